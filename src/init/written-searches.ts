import type { StreamName } from '../config/known-names.ts'
import type { Contract } from '../exchange/contract.ts'
import { comparedKinds } from '../pipeline/compare/compared-kinds.ts'
import type { Named } from './told-to-init.ts'
import { quoted } from './yaml-lines.ts'

/** What each search shows, by its endpoint in the contract, and how it is called. */
const searches = {
  companiesSearch: { name: 'companies', shows: 'custom property values, and mappings by the identifier' },
  standardHoldersSearch: { name: 'holders', shows: 'standards held' },
  frameworkAnswersSearch: { name: 'answers', shows: 'answers and omissions' },
} as const

type Searching = { contract: Contract; identifier: Named | null; properties: readonly Named[] }

/** The lines of each search, with a name that begins so. */
function written({ contract, identifier, properties }: Searching, prefix: string, schedule: readonly string[] = []) {
  const ids = [identifier, ...properties].flatMap((one) => (one === null ? [] : [quoted(one.id)]))
  const body = `{ ${quoted(contract.names.companiesSearch.customPropertyIds)}: [${[...new Set(ids)].join(', ')}] }`
  return Object.entries(searches).map(([search, { name, shows }]) => ({
    search,
    lines: [
      `  - name: ${prefix}${name} # ${shows}`,
      `    search: ${search}`,
      ...(search === 'companiesSearch' ? [`    body: ${body}`] : []),
      ...schedule,
    ],
  }))
}

/**
 * The searches with which a night compares what was sent; those of streams in comments stand in comments. Pure.
 * @param ready the streams that do not.
 */
export function comparedSearchLines(choices: Searching, ready: readonly StreamName[]): string[] {
  const kinds = comparedKinds(choices.contract, choices.identifier?.id ?? null)
  const shows = (search: string) =>
    kinds.some((kind) => kind.search === search && ready.some((stream) => kind.streams.includes(stream)))
  const { active = [], rest = [] } = Object.groupBy(written(choices, 'our_'), ({ search }) =>
    shows(search) ? 'active' : 'rest',
  )
  return [
    '  # With these each nightly-sync compares what was sent with what the service shows, and notices what it lost.',
    ...(rest.length === 0 ? [] : ['  # One in comments shows streams in comments: take the signs away from both.']),
    `  ${active.length === 0 ? '# ' : ''}searches:`,
    ...active.flatMap(({ lines }) => lines.map((line) => `  ${line}`)),
    ...rest.flatMap(({ lines }) => lines.map((line) => `  # ${line}`)),
  ]
}

/** The same searches for somebody who only reads, each with a schedule of its own to set. Pure. */
export function ownSearchLines(choices: Searching): string[] {
  return [
    '  # What else to bring back; each is a job of its own, such as nightferry run search:companies.',
    '  searches:',
    ...written(choices, '', ['    schedule: null']).flatMap(({ lines }) => lines.map((line) => `  ${line}`)),
  ]
}
