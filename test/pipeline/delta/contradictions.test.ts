import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { preflight } from '../../../src/pipeline/preflight/preflight.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'
import { extractNow, openPartner, type Streams } from './partner.ts'

const ferry = await ofThisFile(openFerry())
const partner = await ofThisFile(openPartner())
beforeEach(async () => {
  await ferry.clear()
  await partner.pool.query('truncate hotel')
})

const byCursor: Streams = { properties: {} }
const bySnapshot: Streams = { properties: { capture: 'snapshot' } }
const noon = '2026-01-01T12:00:00Z'
const hotel = (name: string, at = noon, code = 'H-1') =>
  partner.pool.query('insert into hotel (code, name, at) values ($1, $2, $3)', [code, name, at])
const row = () => ferry.ledger.row('properties', 'H-1')
const counts = (runId: number) =>
  ferry.ledger.db
    .selectFrom('run_stream')
    .select(['read', 'folded', 'changed', 'unchanged'])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()

async function runPreflight(runId: number): Promise<void> {
  await using deps = ferry.deps('http://127.0.0.1:9')
  const run = await deps.db.selectFrom('run').selectAll().where('run_id', '=', runId).executeTakeFirstOrThrow()
  await preflight(deps, run)
}

/** Another version of the reference data is in force, so that everything that is pending is judged again. */
async function newReferenceData(): Promise<void> {
  await sql`
    insert into reference_version (version, fetched_at, confirmed_at, documents, changes)
    select coalesce(max(version), 0) + 1, now(), now(), 0, 0 from reference_version`.execute(ferry.ledger.db)
}

describe.each([
  ['with one cursor', byCursor],
  ['in one snapshot', bySnapshot],
])('two rows with one key and different content, %s', (_, streams) => {
  it('make the row invalid, with a reason that says what each of them says', async () => {
    await hotel('Harbour')
    await hotel('Harbor')
    const run = await extractNow(ferry, partner, streams)
    expect(await counts(run)).toEqual({ read: 2, folded: 1, changed: 1, unchanged: 0 })
    const { invalid_reason, checked_hash, desired_hash } = await row()
    expect(invalid_reason).toContain('"Harbor" and "Harbour"')
    expect(checked_hash).toEqual(desired_hash)
  })

  it('stay invalid when the row is judged again', async () => {
    await hotel('Harbour')
    await hotel('Harbor')
    await extractNow(ferry, partner, streams)
    const { invalid_reason } = await row()
    const later = await extractNow(ferry, partner, streams)
    await ferry.ledger.db.updateTable('acceptance').set({ checked_hash: null }).execute()
    await runPreflight(later)
    expect((await row()).invalid_reason).toBe(invalid_reason)
  })

  it('two rows with one key are never ready, also when preflight judges their row by another basis that finds nothing wrong with it', async () => {
    await hotel('Harbour')
    await hotel('Harbor')
    await extractNow(ferry, partner, streams)
    const before = await row()
    const later = await extractNow(ferry, partner, streams)
    const plan = () =>
      ferry.ledger.plan(later, { kind: 'company_mappings', streams: ['properties'], partitionBy: null })
    await runPreflight(later)
    expect(await plan()).toEqual([])
    await newReferenceData()
    await runPreflight(later)
    const after = await row()
    expect(after.judged_by, 'preflight has judged the row again').not.toBe(before.judged_by)
    expect(after).toMatchObject({
      judged: true,
      invalid_reason: before.invalid_reason,
      contradiction: before.contradiction,
    })
    expect(await plan()).toEqual([])

    await partner.pool.query(`delete from hotel where name = 'Harbor'`)
    await extractNow(ferry, partner, streams)
    await runPreflight(later)
    expect(await plan(), 'what is left alone is ready').toHaveLength(1)
  })

  it('two rows with one key are the same row the next night, in whatever order they come', async () => {
    await hotel('Harbour')
    await hotel('Harbor')
    await extractNow(ferry, partner, streams)
    const before = await row()
    await partner.pool.query('truncate hotel')
    await hotel('Harbor')
    await hotel('Harbour')
    expect(await counts(await extractNow(ferry, partner, streams))).toMatchObject({ changed: 0, unchanged: 1 })
    // That it was compared with other rows by now says nothing of what it is.
    expect({ ...(await row()), judged_by: before.judged_by }).toEqual(before)
  })

  it('two rows with one key are the same row when the second one comes a night later as when both come at once', async () => {
    await hotel('Harbour')
    await hotel('Harbor')
    await extractNow(ferry, partner, streams)
    const atOnce = await row()
    await ferry.clear()
    await partner.pool.query('truncate hotel')
    await hotel('Harbour')
    await extractNow(ferry, partner, streams)
    expect((await row()).invalid_reason).toBeNull()
    await hotel('Harbor')
    expect(await counts(await extractNow(ferry, partner, streams))).toMatchObject({ read: 2, changed: 1 })
    const { content, desired_hash, invalid_reason } = await row()
    expect({ content, desired_hash, invalid_reason }).toEqual({
      content: atOnce.content,
      desired_hash: atOnce.desired_hash,
      invalid_reason: atOnce.invalid_reason,
    })
  })

  it('two rows with one key are pending though one of them is what was accepted, and are not when that one is left alone', async () => {
    await hotel('Harbor')
    await extractNow(ferry, partner, streams)
    await ferry.ledger.db
      .updateTable('acceptance')
      .set((eb) => ({ accepted_hash: eb.ref('wanted_hash') }))
      .execute()
    const accepted = (await row()).accepted_hash
    await hotel('Harbour')
    await extractNow(ferry, partner, streams)
    expect((await row()).desired_hash).not.toEqual(accepted)
    await partner.pool.query(`delete from hotel where name = 'Harbour'`)
    await extractNow(ferry, partner, streams)
    expect(await row()).toMatchObject({ desired_hash: accepted, invalid_reason: null, contradiction: null })
  })

  it('do not contradict each other when their content is equal', async () => {
    await hotel('Harbour')
    await hotel('Harbour')
    await extractNow(ferry, partner, streams)
    expect(await row()).toMatchObject({ content: { name: 'Harbour' }, invalid_reason: null, contradiction: null })
  })
})

describe('rows with one key and different cursors', () => {
  it('do not contradict each other: the later one wins', async () => {
    await hotel('new', '2026-01-01T12:00:01Z')
    await hotel('old')
    await extractNow(ferry, partner, byCursor)
    expect(await row()).toMatchObject({ content: { name: 'new' }, invalid_reason: null })
  })

  it('do not contradict each other while an older transaction bounds what the watermark may say', async () => {
    const writer = await partner.pool.connect()
    await writer.query('begin')
    await writer.query('select 1')
    await hotel('old', new Date(Date.now() + 3_600_000).toISOString())
    await hotel('new', new Date(Date.now() + 7_200_000).toISOString())
    await extractNow(ferry, partner, byCursor)
    await writer.query('rollback')
    writer.release()
    expect(await row()).toMatchObject({ content: { name: 'new' }, invalid_reason: null })
  })
})
