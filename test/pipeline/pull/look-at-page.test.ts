import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { lookAtPage } from '../../../src/pipeline/pull/look-at-page.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { openFerry } from '../push/ferry.ts'
import { type Answer, json, service } from '../push/service.ts'
import { calculator, company, type SampleCalculator, samplePage, uuid } from './sample-page.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** A page of a settled search, of a run that is under way. */
async function listed(url: string): Promise<{ pageId: number; runId: number }> {
  const runId = await ferry.ledger.startRun()
  const { submission_id } = await ferry.ledger.db
    .insertInto('submission')
    .values({ run_id: runId, kind: 'calculators_search', state: 'settled', row_count: 0 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  const { page_id } = await ferry.ledger.db
    .insertInto('search_page')
    .values({ submission_id, ordinal: 0, url: `${url}/page`, state: 'listed' })
    .returning('page_id')
    .executeTakeFirstOrThrow()
  return { pageId: page_id, runId }
}
const stateOf = async (pageId: number) =>
  (
    await ferry.ledger.db
      .selectFrom('search_page')
      .select('state')
      .where('page_id', '=', pageId)
      .executeTakeFirstOrThrow()
  ).state

describe('a look at a page', () => {
  it('a look at a page that breaks off before the run was asked to go on has not loaded the page', async () => {
    await using server = await service({ '/page': [json(samplePage([company('Aske')]))] })
    await using deps = ferry.deps(server.url)
    const { pageId, runId } = await listed(server.url)
    const cutOff: Deps = {
      ...deps,
      looks: { ...deps.looks, atRun: () => Promise.reject(new Error('Connection terminated unexpectedly')) },
    }
    await expect(lookAtPage(cutOff, pageId)).rejects.toThrow('Connection terminated unexpectedly')
    expect(await ferry.asked()).toEqual([])
    await lookAtPage(deps, pageId)
    expect(await stateOf(pageId)).toBe('loaded')
    expect(await ferry.asked()).toEqual([{ look: `look-at-run ${runId}`, inMs: 0 }])
  })

  it('comes again when the file server asks it to', async () => {
    const busy: Answer = (response) => response.writeHead(429, { 'retry-after': '120' }).end()
    await using server = await service({ '/page': [busy] })
    await using deps = ferry.deps(server.url)
    const { pageId } = await listed(server.url)
    await lookAtPage(deps, pageId)
    expect(await stateOf(pageId)).toBe('listed')
    expect(await ferry.asked()).toEqual([{ look: `look-at-page ${pageId}`, inMs: expect.closeTo(120_000, -4) }])
  })

  it('goes by the types that the search asked for, not by those of the process that loads its page', async () => {
    const other = calculator('Cora/2', { typeId: uuid('water') })
    const cora = (calculators: SampleCalculator[]) => json(samplePage([company('Cora', { calculators })]))
    await using server = await service({ '/page': [cora([calculator('Cora/1'), other]), cora([calculator('Cora/1')])] })
    await using deps = ferry.deps(server.url)
    await lookAtPage(deps, (await listed(server.url)).pageId)
    await ferry.ledger.db.updateTable('run').set({ state: 'finished' }).execute()
    const selective = await listed(server.url)
    const asked = JSON.stringify({ customPropertyIds: [], calculatorTypeIds: [uuid('carbon')] })
    await ferry.ledger.db.updateTable('submission').set({ asked }).where('run_id', '=', selective.runId).execute()
    expect(deps.config.pull.calculatorTypeIds).toEqual([])
    await lookAtPage(deps, selective.pageId)
    const { rows } = await ferry.ledger.pool.query<{ removed: boolean }>(
      'select removed_at is not null as removed from calculator where calculator_id = $1',
      [other.id],
    )
    expect(rows).toEqual([{ removed: false }])
  })

  const correlationId = uuid('task of the search')
  async function expired(url: string): Promise<number> {
    const { pageId } = await listed(url)
    await ferry.ledger.db.updateTable('submission').set({ correlation_id: correlationId }).execute()
    return pageId
  }

  it.each([400, 401, 403, 404, 410])(
    'loads a page under a fresh address where the old one is answered with %i',
    async (status) => {
      const renewed: Answer = (response) =>
        json({ correlationId, status: 'Success', pageUrls: [{ url: `${server.url}/page?renewed` }] })(response)
      await using server = await service({
        '/page': [(response) => response.writeHead(status).end()],
        '/page?renewed': [json(samplePage([company('Aske')]))],
        [`/api/v2/bulk/tasks/${correlationId}`]: [renewed],
      })
      await using deps = ferry.deps(server.url)
      const pageId = await expired(server.url)
      await lookAtPage(deps, pageId)
      expect(await stateOf(pageId)).toBe('listed')
      await lookAtPage(deps, pageId)
      expect(await stateOf(pageId)).toBe('loaded')
    },
  )

  it('asks for the fresh addresses of all pages at once, and leaves alone what is being loaded', async () => {
    const paths = ['/page', '/second', '/third']
    const fresh = (response: ServerResponse) => {
      const pageUrls = paths.map((path) => ({ url: `${server.url}${path}?renewed` }))
      json({ correlationId, status: 'Success', pageUrls })(response)
    }
    const gone: Answer = (response) => response.writeHead(403).end()
    await using server = await service({
      '/page': [gone],
      '/second?renewed': [json(samplePage([company('Aske')]))],
      [`/api/v2/bulk/tasks/${correlationId}`]: [fresh],
    })
    await using deps = ferry.deps(server.url)
    const pageId = await expired(server.url)
    const { submission_id } = await ferry.ledger.db
      .selectFrom('search_page')
      .select('submission_id')
      .where('page_id', '=', pageId)
      .executeTakeFirstOrThrow()
    const [second, third] = await ferry.ledger.db
      .insertInto('search_page')
      .values(
        ['/second', '/third'].map((path, at) => {
          const url = `${server.url}${path}`
          return { submission_id, ordinal: at + 1, url, state: 'listed' as const }
        }),
      )
      .returning('page_id')
      .execute()
    await ferry.ledger.db.transaction().execute(async (loading) => {
      await loading.selectFrom('search_page').where('page_id', '=', Number(third?.page_id)).forNoKeyUpdate().execute()
      await lookAtPage(deps, pageId)
    })
    const urls = await ferry.ledger.db.selectFrom('search_page').select('url').orderBy('ordinal').execute()
    expect(urls.map(({ url }) => url.slice(server.url.length))).toEqual(['/page?renewed', '/second?renewed', '/third'])
    await lookAtPage(deps, Number(second?.page_id))
    expect(await stateOf(Number(second?.page_id))).toBe('loaded')
    expect(server.count(`/api/v2/bulk/tasks/${correlationId}`)).toBe(1)
  })

  it.each([408, 425, 429])('asks for no fresh address of a page that is answered with %i', async (status) => {
    await using server = await service({ '/page': [(response) => response.writeHead(status).end()] })
    await using deps = ferry.deps(server.url)
    const pageId = await expired(server.url)
    await lookAtPage(deps, pageId)
    expect(server.seen.map(({ path }) => path)).toEqual(['/page'])
  })

  it.each<[string, Answer]>([
    ['302, as a gateway does', (response) => response.writeHead(302, { location: '/maintenance' }).end()],
    ['403, as a firewall does', (response) => response.writeHead(403).end('<html>')],
    ['a task that is too long to be read', json({ correlationId, status: 'x'.repeat(1_100_000) })],
  ])('tries a page again whose fresh address was answered with %s', async (_, answer) => {
    const gone: Answer = (response) => response.writeHead(403).end()
    const renewed: Answer = (response) =>
      json({ correlationId, status: 'Success', pageUrls: [{ url: `${server.url}/page?renewed` }] })(response)
    await using server = await service({
      '/page': [gone, gone],
      '/page?renewed': [json(samplePage([company('Aske')]))],
      [`/api/v2/bulk/tasks/${correlationId}`]: [answer, renewed],
    })
    await using deps = ferry.deps(server.url)
    const pageId = await expired(server.url)
    for (let failures = 1; failures <= 2; failures++) {
      await lookAtPage(deps, pageId)
      expect(await stateOf(pageId)).toBe('listed')
      expect(await ferry.asked()).toMatchObject([{ look: `look-at-page ${pageId}` }])
    }
    await lookAtPage(deps, pageId)
    expect(await stateOf(pageId)).toBe('loaded')
  })

  it.each<[string, Answer]>([
    ['500', (response) => response.writeHead(500).end()],
    ['404, as a gateway does', (response) => response.writeHead(404).end('<html>')],
    ['HTML', (response) => response.end('<html>')],
  ])('fails alone where its task is answered with %s while the service answers others', async (_, answer) => {
    const gone: Answer = (response) => response.writeHead(403).end()
    await using server = await service({
      '/page': [gone],
      [`/api/v2/bulk/tasks/${correlationId}`]: [answer],
      '/api/v2/bulk/tasks': [json([])],
    })
    await using deps = ferry.deps(server.url)
    const pageId = await expired(server.url)
    for (let look = 0; look < 6; look++) await lookAtPage(deps, pageId)
    expect(await stateOf(pageId)).toBe('failed')
  })

  it.each<[string, Answer]>([
    ['503', (response) => response.writeHead(503).end()],
    ['a reset', (response) => response.socket?.destroy()],
  ])(
    'a page whose host answers %s is given up once that has lasted as long as calls may fail, and no sooner',
    async (_, answer) => {
      await using server = await service({ '/page': [answer] })
      await using deps = ferry.deps(server.url)
      const { pageId } = await listed(server.url)
      await ferry.asked()
      let waitedMs = 0
      for (let look = 0; look < 20; look++) {
        await lookAtPage(deps, pageId)
        expect(await stateOf(pageId)).toBe('listed')
        for (const { inMs } of some(await ferry.asked())) waitedMs += inMs
      }
      expect(waitedMs).toBeGreaterThan(deps.config.exchange.giveUpAfterMs)
      await lookAtPage(deps, pageId)
      expect(await stateOf(pageId)).toBe('failed')
    },
  )

  it('a page whose attempts take long is given up by the time that they took', async () => {
    await using server = await service({ '/page': [(response) => response.writeHead(503).end()] })
    await using deps = ferry.deps(server.url)
    const { pageId } = await listed(server.url)
    const at = deps.now().getTime()
    const later = (ms: number): Deps => ({ ...deps, now: () => new Date(at + ms) })
    const { giveUpAfterMs } = deps.config.exchange
    await lookAtPage(later(0), pageId)
    await lookAtPage(later(giveUpAfterMs - 1_000), pageId)
    expect(await stateOf(pageId)).toBe('listed')
    await lookAtPage(later(giveUpAfterMs + 1_000), pageId)
    expect(await stateOf(pageId)).toBe('failed')
  })

  it('a page whose host asks for long waits is given up after about as long as calls may fail', async () => {
    const busy: Answer = (response) => response.writeHead(429, { 'retry-after': '300' }).end()
    await using server = await service({ '/page': [busy] })
    await using deps = ferry.deps(server.url)
    const { pageId } = await listed(server.url)
    for (const state of ['listed', 'listed', 'listed', 'listed', 'failed']) {
      await lookAtPage(deps, pageId)
      expect(await stateOf(pageId)).toBe(state)
    }
  })

  it('a page whose address expired while its host was away is loaded under a fresh one', async () => {
    const away: Answer = (response) => response.writeHead(503).end()
    const renewed: Answer = (response) =>
      json({ correlationId, status: 'Success', pageUrls: [{ url: `${server.url}/page?renewed` }] })(response)
    await using server = await service({
      '/page': [...Array.from({ length: 8 }, () => away), (response) => response.writeHead(403).end()],
      '/page?renewed': [json(samplePage([company('Aske')]))],
      [`/api/v2/bulk/tasks/${correlationId}`]: [renewed],
    })
    await using deps = ferry.deps(server.url)
    const pageId = await expired(server.url)
    for (let look = 0; look < 10; look++) await lookAtPage(deps, pageId)
    expect(await stateOf(pageId)).toBe('loaded')
  })

  it('does not count an address that nobody was asked for, because the service is away, against the page', async () => {
    const gone: Answer = (response) => response.writeHead(403).end()
    const away: Answer = (response) => response.writeHead(503).end()
    await using server = await service({
      '/page': [gone],
      [`/api/v2/bulk/tasks/${correlationId}`]: [away],
    })
    await using deps = ferry.deps(server.url)
    const pageId = await expired(server.url)
    await expect(lookAtPage(deps, pageId)).rejects.toMatchObject({ code: 'exchange_failed' })
    const page = ferry.ledger.db.selectFrom('search_page').select(['state', 'failures'])
    expect(await page.execute()).toEqual([{ state: 'listed', failures: 0 }])
  })

  it('keeps nothing of a page whose run ended meanwhile', async () => {
    let arrived = 0
    await using server = await service({
      '/page': [
        async (response) => {
          arrived += 1
          await ferry.ledger.db.updateTable('run').set({ state: 'failed' }).execute()
          json(samplePage([company('Bodil')]))(response)
        },
      ],
    })
    await using deps = ferry.deps(server.url)
    const { pageId } = await listed(server.url)
    await lookAtPage(deps, pageId)
    expect(arrived).toBe(1)
    expect(await stateOf(pageId)).toBe('listed')
    expect(await ferry.ledger.db.selectFrom('company').select('name').where('name', '=', 'Bodil').execute()).toEqual([])
  })
})
