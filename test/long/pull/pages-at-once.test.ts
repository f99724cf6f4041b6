import { expect, it } from 'vitest'
import { sendJson } from '../../exchange/fault-server.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { company, samplePage } from '../../pipeline/pull/sample-page.ts'
import { openFerry } from '../../pipeline/push/ferry.ts'
import { type Answer, service } from '../../pipeline/push/service.ts'
import { startLoading } from './loading.ts'

const ferry = await ofThisFile(openFerry())

/** A file server of pages that answers nobody until so many have asked at once. */
async function barrier(pages: number, together: number) {
  const waiting: (() => void)[] = []
  let most = 0
  const answer =
    (page: number): Answer =>
    (response) => {
      waiting.push(() => sendJson(response, samplePage([company(`Hotel ${page}`), company(`Inn ${page}`)])))
      most = Math.max(most, waiting.length)
      if (most >= together) for (const go of waiting.splice(0)) go()
    }
  const script = Object.fromEntries(Array.from({ length: pages }, (_, page) => [`/${page}`, [answer(page)]]))
  return { ...(await service(script)), most: () => most }
}

it.each([
  [16, 20],
  [1, 6],
])(
  'the pull loads %i at once of %i pages, with the connections of its pool and without a pause between them',
  async (pagesAtOnce, pages) => {
    await using server = await barrier(pages, pagesAtOnce)
    const urls = Array.from({ length: pages }, (_, page) => `${server.url}/${page}`)
    // So rare a poll that anyone who waits for it comes too late.
    await using loading = await startLoading(ferry, urls, { pagesAtOnce, jobPollMs: 600_000 })
    await loading.done()
    expect(server.most()).toBe(pagesAtOnce)
    expect(server.seen).toHaveLength(pages)
    const { rows } = await ferry.ledger.pool.query(
      'select state, count(*)::int as pages, sum(companies)::int as companies from search_page group by state',
    )
    expect(rows).toEqual([{ state: 'loaded', pages, companies: 2 * pages }])
    expect(loading.pool.waitingCount).toBe(0)
  },
)
