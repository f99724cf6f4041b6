import type { PageProgress } from '../../db/runs/page-progress.ts'
import { counted, grouped, shortened } from './readable.ts'
import { table } from './table.ts'

/** How the pages of a run's searches get on, and which of them are worth a look. */
export function renderPages(progress: PageProgress): string {
  const { pages, document_pages, loaded, failed, companies, unchanged, careful, bytes, remarkable } = progress
  const open = pages - loaded - failed
  const line = [
    `Pages of the ${document_pages > 0 ? 'searches' : 'search'}: ${grouped(loaded)} of ${grouped(pages)} loaded`,
    ...(failed > 0 ? [`${grouped(failed)} failed`] : []),
    ...(open > 0 ? [`${grouped(open)} to come`] : []),
    `${counted(companies, 'company')}, ${grouped(unchanged)} of them unchanged`,
    `${grouped(Math.round(bytes / 1000))} kB`,
    ...(careful > 0 ? [`${grouped(careful)} loaded with care`] : []),
  ].join(' · ')
  if (remarkable.length === 0) return line
  return `${line}\n${table(
    ['search', 'page', 'state', 'failures', 'why'],
    remarkable.map((page) => [
      page.search ?? 'calculators',
      page.page,
      page.state,
      page.failures,
      shortened(whyOf(page), 140),
    ]),
  )}`
}

function whyOf({ state, error_code, error_message, care }: PageProgress['remarkable'][number]): string {
  if (state === 'loaded') return `with care: ${care ?? ''}`
  return [error_code, error_message].filter(Boolean).join(': ')
}
