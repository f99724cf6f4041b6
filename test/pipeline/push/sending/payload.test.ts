import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { removeOld } from '../../../../src/db/housekeeping/remove-old.ts'
import { up } from '../../../../src/db/migrations/0007-sending.ts'
import type { SubmissionState } from '../../../../src/db/tables/submission-tables.ts'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { readPayload } from '../../../../src/pipeline/push/sending/kept-body.ts'
import { storePayload } from '../../../../src/pipeline/push/sending/payload.ts'
import { finishWithReport } from '../../../../src/pipeline/report/finish-with-report.ts'
import { tcpServer } from '../../../exchange/fault-server.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { openFerry } from '../ferry.ts'
import { json, reset, service } from '../service.ts'

const post = '/api/v1/bulk/company-mappings'
const accepted = { correlationId: '0b6c2f4e-0000-4000-8000-000000000001' }

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** Texts that gzip cannot make small: some 340 bytes a row when compressed. */
const many = (rows: number) =>
  Array.from({ length: rows }, (_, at) => ({
    partner_id: `H-${String(at).padStart(6, '0')}`,
    content: { name: randomBytes(200).toString('hex'), street: 'Straße 🏨' },
  }))

const pieces = (id: number) =>
  ferry.ledger.db
    .selectFrom('submission_payload')
    .select(['ordinal', 'piece'])
    .where('submission_id', '=', id)
    .orderBy('ordinal')
    .execute()

describe('a payload', () => {
  it('a payload of many pieces is sent with its length, and sent again the same byte for byte after a lost answer', async () => {
    await using server = await service({ [post]: [reset, json(accepted)], '/api/v2/bulk/tasks': [json([])] })
    await using deps = ferry.deps(server.url, { firstRows: 5_000 })
    const id = await ferry.planned(deps, 'properties', many(4_000))
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('uncertain')
    // What the ledger says by then makes no difference.
    await ferry.ledger.db.updateTable('source_row').set({ content: '{"name":"another"}' }).execute()
    ferry.clock.pass(3_600_000)
    await lookAtSubmission(deps, id)
    await lookAtSubmission(deps, id)
    const { state, payload_bytes } = await ferry.submission(id)
    expect(state).toBe('accepted')
    const [first, second] = server.seen.filter(({ path }) => path === post)
    expect(second?.body).toBe(first?.body)
    const { companies } = JSON.parse(first?.body ?? '') as { companies: { id: string }[] }
    expect(companies.map((company) => company.id)).toEqual(many(4_000).map(({ partner_id }) => partner_id))
    expect(first?.headers).toMatchObject({ 'content-length': String(payload_bytes) })
    expect(first?.headers).not.toHaveProperty('transfer-encoding')
    const stored = await pieces(id)
    expect(stored.length).toBeGreaterThan(3)
    expect(stored.slice(0, -1).map(({ piece }) => piece.length)).toEqual(Array(stored.length - 1).fill(262_144))
  })

  it('the rows of a payload are read a few at a time where their texts are long', async () => {
    await using server = await service({ [post]: [json(accepted)] })
    await using deps = ferry.deps(server.url)
    const long = many(40).map(({ partner_id, content }) => ({
      partner_id,
      content: { ...content, name: randomBytes(25_000).toString('hex') },
    }))
    const id = await ferry.planned(deps, 'properties', long)
    const query = vi.spyOn(pg.Client.prototype, 'query')
    onTestFinished(() => query.mockRestore())
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('accepted')
    const texts = query.mock.calls.map(([asked]) => JSON.stringify(asked))
    const fetched = texts.flatMap((text) => /fetch (\d+) from outgoing_rows/.exec(text)?.slice(1).map(Number) ?? [])
    expect(fetched.length).toBeGreaterThan(4)
    expect(Math.max(...fetched)).toBeLessThanOrEqual(10)
  })

  it.each<[string, (id: number) => Promise<unknown>]>([
    [
      'is missing',
      (id) =>
        ferry.ledger.db
          .deleteFrom('submission_payload')
          .where('submission_id', '=', id)
          .where('ordinal', '=', 2)
          .execute(),
    ],
    [
      'is damaged',
      (id) =>
        ferry.ledger.db
          .updateTable('submission_payload')
          .set({ piece: Buffer.alloc(300_000, 7) })
          .where('submission_id', '=', id)
          .where('ordinal', '=', 2)
          .execute(),
    ],
  ])(
    'a payload of which a piece %s is uncertain, and the service sees a request that was cut off',
    async (_, damage) => {
      let announced = 0
      let received = 0
      await using server = await tcpServer((socket) =>
        socket.on('data', (chunk: Buffer) => {
          const text = chunk.toString('latin1')
          const head = announced === 0 ? text.indexOf('\r\n\r\n') + 4 : 0
          announced ||= Number(/content-length: (\d+)/i.exec(text)?.[1])
          received += chunk.length - head
        }),
      )
      await using deps = ferry.deps(server.url, { firstRows: 5_000 })
      const id = await ferry.planned(deps, 'properties', many(4_000))
      await using nobody = await service({ [post]: [reset] })
      await using first = ferry.deps(nobody.url)
      await lookAtSubmission(first, id)
      await ferry.ledger.db
        .updateTable('submission')
        .set({ state: 'planned' })
        .where('submission_id', '=', id)
        .execute()
      await damage(id)
      await lookAtSubmission(deps, id)
      expect(await ferry.submission(id)).toMatchObject({ state: 'uncertain', error_code: 'submission_uncertain' })
      expect(received).toBeLessThan(announced)
    },
  )

  it('a payload that was never asked for opens no statement, and one that is left alone half-way ends', async () => {
    await using deps = ferry.deps('http://127.0.0.1:9', { firstRows: 5_000 })
    const id = await ferry.planned(deps, 'properties', many(2_000))
    await ferry.ledger.inTransaction((trx) =>
      storePayload(
        trx,
        id,
        (async function* () {
          for (let at = 0; at < 2_000; at++) yield randomBytes(500).toString('hex')
        })(),
      ),
    )
    const body = readPayload(ferry.ledger.db, id)
    for await (const _ of body) break
    expect(body.destroyed).toBe(true)
    expect((await text(readPayload(ferry.ledger.db, id))).length).toBe(2_000_000)
  })

  it('a payload of no bytes sends nothing', async () => {
    await using deps = ferry.deps('http://127.0.0.1:9', { firstRows: 5_000 })
    const id = await ferry.planned(deps, 'properties', many(1))
    const bytes = await ferry.ledger.inTransaction((trx) => storePayload(trx, id, (async function* () {})()))
    expect(bytes).toBe(0)
    expect(await text(readPayload(ferry.ledger.db, id))).toBe('')
  })
})

describe('payloads that were kept long enough', () => {
  it.each<[SubmissionState, boolean]>([
    ['settled', true],
    ['refused', true],
    ['lost', true],
    ['abandoned', true],
    ['planned', false],
    ['sending', false],
    ['uncertain', false],
    ['accepted', false],
    ['terminal', false],
  ])('payloads that were kept long enough are removed of a submission that is %s: %s', async (state, gone) => {
    await using server = await service({ [post]: [json(accepted)] })
    await using deps = ferry.deps(server.url, { firstRows: 5_000 })
    const id = await ferry.planned(deps, 'properties', many(10))
    await lookAtSubmission(deps, id)
    await ferry.ledger.db
      .updateTable('submission')
      .set({ state, settled_at: new Date('2026-01-01') })
      .execute()
    expect(await removeOld(ferry.ledger.db, 'payloads', new Date('2025-12-31'))).toBe(0)
    expect(await removeOld(ferry.ledger.db, 'payloads', new Date('2026-01-02'))).toBe(gone ? 1 : 0)
    expect(await pieces(id)).toHaveLength(gone ? 0 : 1)
    expect((await ferry.submission(id)).payload_bytes).toBeGreaterThan(0)
  })
})

it.each([
  [90, 0],
  [0, 1],
  [1_000, 1],
])('a run that ends, with keepPayloadsDays %i, leaves %i piece of a request of 91 days ago', async (days, left) => {
  await using server = await service({ [post]: [json(accepted)] })
  await using given = ferry.deps(server.url, { firstRows: 5_000 })
  const { push } = given.config
  const deps = { ...given, config: { ...given.config, push: { ...push, keepPayloadsDays: days } } }
  const id = await ferry.planned(deps, 'properties', many(1))
  await lookAtSubmission(deps, id)
  const settled_at = new Date(ferry.clock.at.getTime() - 91 * 86_400_000)
  await ferry.ledger.db.updateTable('submission').set({ state: 'settled', settled_at }).execute()
  const run = await ferry.ledger.db.selectFrom('run').selectAll().executeTakeFirstOrThrow()
  await finishWithReport(deps, run)
  expect(await pieces(id)).toHaveLength(left)
  const { state, report } = await ferry.ledger.db.selectFrom('run').selectAll().executeTakeFirstOrThrow()
  expect(state).toBe('finished')
  expect(report).toMatchObject({ submissions: [{ submission_id: id }] })
})

it('a payload that an earlier version stored in one column is cut into pieces that read as before', async () => {
  const bodies = ['{}', randomBytes(400_000).toString('hex')]
  await ferry.ledger.startRun()
  const read = await ferry.ledger.inTransaction(async (trx) => {
    const { rows } = await sql<{ run_id: number }>`select max(run_id) as run_id from run`.execute(trx)
    await sql`drop table submission_payload, service_key`.execute(trx)
    await sql`alter table submission add column payload bytea`.execute(trx)
    for (const body of bodies) {
      await sql`
        insert into submission (run_id, kind, state, row_count, payload, payload_bytes)
        values (${rows[0]?.run_id}, 'company_mappings', 'settled', 1, ${gzipSync(body)}, ${body.length})`.execute(trx)
    }
    await up(trx as unknown as Kysely<unknown>)
    const submissions = await trx.selectFrom('submission').select('submission_id').orderBy('submission_id').execute()
    const texts: string[] = []
    for (const { submission_id } of submissions) texts.push(await text(readPayload(trx, submission_id)))
    return texts
  })
  expect(read).toEqual(bodies)
})
