import { tmpdir } from 'node:os'
import { afterEach, describe, expect, test } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { bytesNeeded, copyLedger, ledgerBytes, requireRoom } from '../../src/rehearsal/copy/copy-ledger.ts'
import { testDatabase } from '../helpers/postgres.ts'

let made = new AsyncDisposableStack()
afterEach(async () => {
  await made.disposeAsync()
  made = new AsyncDisposableStack()
})

async function ledger() {
  const database = made.use(await testDatabase({ template: 'migrated' }))
  const settings = { max: 3, applicationName: 'nightferry tests', searchPath: schemaName, onIdleError: () => {} }
  const pool = createPool(database.url, settings)
  made.defer(() => pool.end())
  return pool
}

const signal = new AbortController().signal
const addRun = (state: string) =>
  `insert into run (job, trigger, scheduled_for, state, step) values ('nightly-sync', 'cli', clock_timestamp(), '${state}', 'report')`
const wanted = `insert into source_row (stream, partner_id, row_key, content, desired_hash) values ('properties', 'H-1', 'H-1', '{"name": "a\\tb"}', '\\x01')`

describe('a copy of the ledger', () => {
  test('holds what the source held when it began, and goes on with its numbers', async () => {
    const [source, target] = [await ledger(), await ledger()]
    await source.query(`${addRun('finished')}; ${addRun('finished')}; ${wanted}`)
    await target.query(addRun('finished'))
    const copied = await copyLedger(source, target, signal)
    expect(copied.bytes).toBe(await ledgerBytes(source))
    for (const query of ['select * from run order by 1', 'select * from source_row', 'select * from destination']) {
      expect((await target.query(query)).rows).toEqual((await source.query(query)).rows)
    }
    const added = `${addRun('finished')} returning run_id`
    expect((await target.query(added)).rows).toEqual((await source.query(added)).rows)
  })

  test('holds the past of rows that are not accepted as they stand, by which a night tells what to take back', async () => {
    const [source, target] = [await ledger(), await ledger()]
    await source.query(`${wanted}; ${wanted.replaceAll('H-1', 'H-2')};
      update source_row set content = '{}', desired_hash = '\\x02';
      insert into acceptance (row_id, partner_id, wanted_hash, accepted_hash)
      select row_id, partner_id, desired_hash, case partner_id when 'H-1' then '\\x01' else desired_hash end
      from source_row`)
    const copied = await copyLedger(source, target, signal)
    expect(copied.bytes).toBe(await ledgerBytes(source))
    const past = 'select partner_id, hash_before from row_change join source_row using (row_id) order by 1'
    expect((await source.query(past)).rows).toHaveLength(2)
    expect((await target.query(past)).rows).toEqual([{ partner_id: 'H-1', hash_before: Buffer.from([1]) }])
  })

  test('does not write to the source', async () => {
    const [source, target] = [await ledger(), await ledger()]
    const written = 'select pg_current_xact_id_if_assigned() as id, (select count(*) from run) as runs'
    const before = (await source.query(written)).rows
    await source.query('set default_transaction_read_only = on')
    await copyLedger(source, target, signal)
    expect((await source.query(written)).rows).toEqual(before)
  })

  test('a copy of the ledger is refused while a run is under way, and the target is as it was', async () => {
    const [source, target] = [await ledger(), await ledger()]
    await source.query(addRun('running'))
    await target.query(addRun('finished'))
    await expect(copyLedger(source, target, signal)).rejects.toMatchObject({ code: 'run_under_way' })
    expect((await target.query('select state from run')).rows).toEqual([{ state: 'finished' }])
  })
})

describe('the room for a copy', () => {
  test('the room for a copy is refused where the disk has less, with what is needed and what is free', async () => {
    await expect(requireRoom(tmpdir(), 2 ** 60)).rejects.toMatchObject({
      code: 'rehearsal_no_room',
      message: expect.stringMatching(/needs [\d,]+ MiB .* has [\d,]+ MiB free/),
    })
    // Where the ledger is in the embedded server, that setting would begin an empty one.
    await expect(requireRoom(tmpdir(), 2 ** 60)).rejects.not.toThrow('database.folder')
    await expect(requireRoom(tmpdir(), 2 ** 60, 'world')).rejects.toThrow(/for the file of the mirror, .* --world\.$/)
    expect(await requireRoom(tmpdir(), 1)).toBeGreaterThan(0)
  })

  test('the room for a copy is more than the ledger and the world file, and cannot be judged on another machine', async () => {
    expect(bytesNeeded(1_000_000, 1_000)).toBeGreaterThan(1_001_000)
    expect(await requireRoom(null, 2 ** 60)).toBeNull()
  })
})
