import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import { unfinishedStates } from '../../../src/db/tables/submission-tables.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { httpServer, sendJson } from '../../exchange/fault-server.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const company = '0b6c2f4e-0000-4000-8000-0000000000c1'
const hotels = ['H-1', 'H-2'].map((partner_id) => ({ partner_id, content: { name: partner_id } }))
const whole = JSON.stringify({
  companies: hotels.map(({ partner_id }) => ({ id: partner_id, status: 'Mapped', companyId: company })),
})

type File = (response: ServerResponse, address: number) => unknown
const answered =
  (status: number): File =>
  (response) =>
    response.writeHead(status).end()
const cutShort: File = (response) => response.end(whole.slice(0, 40))
const intact: File = (response) => response.end(whole)

/** A service whose task has ended; every reading of the task gives its file another address, numbered from 1. */
async function serviceWithFile(status: string, file: File) {
  let readings = 0
  const server = await httpServer((request, response) => {
    if (request.method === 'POST') return sendJson(response, { correlationId })
    const address = /^\/files\/(\d+)$/.exec(request.path)?.[1]
    if (address !== undefined) return file(response, Number(address))
    readings += 1
    return sendJson(response, {
      correlationId,
      status,
      file: { url: `http://${request.headers.host}/files/${readings}` },
    })
  })
  return { ...server, files: () => server.seen.filter(({ path }) => path.startsWith('/files/')).length }
}

/** Sends both hotels and looks until their submission has ended, or so often. Answers how it ended. */
async function lookedAt(url: string, most: number, betweenMs = 0) {
  await using deps = ferry.deps(url)
  const id = await ferry.planned(deps, 'properties', hotels)
  await lookAtSubmission(deps, id)
  for (let look = 0; look < most; look++) {
    await lookAtSubmission(deps, id)
    ferry.clock.pass(betweenMs)
  }
  return await ferry.submission(id)
}

const outcomes = () =>
  ferry.ledger.db.selectFrom('ledger').select(['outcome', 'outcome_code', 'held_by']).orderBy('row_key').execute()

describe('a result file', () => {
  it.each([404, 410, 403])(
    'a result file that stays %i is given up after six attempts at fresh addresses: its rows are unknown',
    async (status) => {
      await using server = await serviceWithFile('Success', answered(status))
      expect(await lookedAt(server.url, 5)).toMatchObject({ state: 'terminal', error_code: 'result_file_gone' })
      expect(await outcomes()).toMatchObject([{ outcome: null }, { outcome: null }])
      await ferry.clear()
      await ferry.asked()
      expect(await lookedAt(server.url, 6)).toMatchObject({ state: 'settled', error_code: 'result_file_lost' })
      const unknown = { outcome: 'unknown', outcome_code: 'result_file_lost', held_by: null }
      expect(await outcomes()).toEqual([unknown, unknown])
      const addresses = server.seen.map(({ path }) => path).filter((path) => path.startsWith('/files/'))
      expect(new Set(addresses).size).toBeGreaterThan(9)
      const looks = (await ferry.asked()).map(({ look }) => look)
      expect(looks).toContainEqual(expect.stringMatching(/^look-at-run/))
    },
  )

  it.each([429, 503])('a result file that is answered %i is read as late as its server asks', async (status) => {
    await using server = await serviceWithFile('Success', (response) =>
      response.setHeader('retry-after', ['5', '120']).writeHead(status).end(),
    )
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', hotels)
    await lookAtSubmission(deps, id)
    await ferry.asked()
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'terminal', failures: 1 })
    const [look] = await ferry.asked()
    expect(look).toEqual({ look: `look-at-submission ${id}`, inMs: expect.closeTo(120_000, -3) })
  })

  it('a result file that has expired is read from the fresh address that the task gives', async () => {
    await using server = await serviceWithFile('Success', (response, address) =>
      (address === 1 ? answered(410) : intact)(response, address),
    )
    expect(await lookedAt(server.url, 2)).toMatchObject({ state: 'settled', error_code: null })
    expect(await outcomes()).toMatchObject([{ outcome: 'confirmed' }, { outcome: 'confirmed' }])
  })

  it('a result file that arrives cut three times has the patience of a page: the fourth attempt reads it', async () => {
    await using server = await serviceWithFile('Success', (response, address) =>
      (address < 4 ? cutShort : intact)(response, address),
    )
    expect(await lookedAt(server.url, 4)).toMatchObject({ state: 'settled' })
    expect(await outcomes()).toMatchObject([{ outcome: 'confirmed' }, { outcome: 'confirmed' }])
    expect(server.files()).toBe(4)
  })

  it('a result file that nobody serves any more stops no run: once the service had its time the rows are unknown', async () => {
    await using server = await serviceWithFile('Success', (response) => response.socket?.destroy())
    expect(await lookedAt(server.url, 15, 60_000)).toMatchObject({ state: 'terminal', error_code: 'download_failed' })
    await ferry.clear()
    expect(await lookedAt(server.url, 17, 60_000)).toMatchObject({ state: 'settled', error_code: 'result_file_lost' })
    expect(await outcomes()).toMatchObject([{ outcome: 'unknown' }, { outcome: 'unknown' }])
  })

  it('a result file that is missing of a task in Error makes it an Error without a word: its request is split', async () => {
    await using server = await serviceWithFile('Error', answered(404))
    expect(await lookedAt(server.url, 6)).toMatchObject({ state: 'settled', error_code: 'result_file_lost' })
    const parts = await ferry.ledger.db
      .selectFrom('submission')
      .select(['state', 'row_count', 'depth'])
      .where('depth', '=', 1)
      .execute()
    expect(parts).toEqual([
      { state: 'planned', row_count: 1, depth: 1 },
      { state: 'planned', row_count: 1, depth: 1 },
    ])
  })

  it.each([
    ['by turns', 1],
    ['one after the other', 8],
  ])('a result file that is missing of every part is no matter of the rows, tried %s', async (_, looks) => {
    await using server = await httpServer((request, response) => {
      if (request.method === 'POST') return sendJson(response, { correlationId: randomUUID() })
      if (request.path.startsWith('/files/')) return answered(404)(response, 0)
      const id = request.path.split('/').at(-1)
      const file = { url: `http://${request.headers.host}/files/${id}` }
      return sendJson(response, { correlationId: id, status: 'Error', file })
    })
    await using deps = ferry.deps(server.url)
    const eight = Array.from({ length: 8 }, (_, at) => ({ partner_id: `H-${at}`, content: { name: `${at}` } }))
    await ferry.planned(deps, 'properties', eight)
    let unfinished = await requests(true)
    for (let round = 0; unfinished.length > 0 && round < 40; round++) {
      for (const { submission_id } of unfinished) {
        for (let look = 0; look < looks; look++) await lookAtSubmission(deps, submission_id)
      }
      unfinished = await requests(true)
    }
    expect(unfinished).toEqual([])
    const parts = await requests(false)
    expect(parts.map(({ depth }) => depth)).toEqual([0, 1, 1, 2, 2, 2, 2])
    const unknown = { outcome: 'unknown', outcome_code: 'task_error', held_by: null }
    expect(await outcomes()).toEqual(eight.map(() => unknown))
    // Six attempts each: one that waits for others does not begin with its file again.
    expect(server.seen.filter(({ path }) => path.startsWith('/files/'))).toHaveLength(6 * parts.length)
  })
})

const requests = (unfinished: boolean) =>
  ferry.ledger.db
    .selectFrom('submission')
    .select(['submission_id', 'depth'])
    .$if(unfinished, (query) => query.where('state', 'in', unfinishedStates))
    .orderBy('submission_id')
    .execute()
