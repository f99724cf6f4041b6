import { beforeEach, describe, expect, it } from 'vitest'
import { adoptUnfinished } from '../../../src/db/runs/run-life.ts'
import type { SubmissionState } from '../../../src/db/tables/submission-tables.ts'
import { searchKinds } from '../../../src/pipeline/streams/kind-names.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const searchKind = 'calculators_search'
const mappingKind = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }

const ledger = await ofThisFile(openLedger())
let earlier: number
beforeEach(async () => {
  await ledger.clear()
  earlier = await ledger.startRun()
})

async function put(
  state: SubmissionState,
  kind: string,
  payload_bytes: number | null,
  uncertain_since: Date | null = null,
): Promise<number> {
  const common = { run_id: earlier, kind, row_count: 1, failures: 5, failing_since: new Date(0) }
  const { submission_id } = await ledger.db
    .insertInto('submission')
    .values({ ...common, state, payload_bytes, uncertain_since })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  return submission_id
}
const submission = (id: number) =>
  ledger.db.selectFrom('submission').selectAll().where('submission_id', '=', id).executeTakeFirstOrThrow()
async function adopt(): Promise<number> {
  const run = await ledger.startRun()
  await ledger.inTransaction((trx) => adoptUnfinished(trx, run, searchKinds))
  return run
}

describe('a new run', () => {
  it.each<SubmissionState>(['planned', 'sending', 'uncertain', 'accepted', 'terminal'])(
    'takes over a submission that may have arrived and is %s, and forgets how often calls failed before',
    async (state) => {
      const id = await put(state, 'company_mappings', 2, new Date(0))
      const run = await adopt()
      expect(await submission(id)).toMatchObject({ run_id: run, state, failures: 0, failing_since: null })
    },
  )

  it.each<SubmissionState>(['settled', 'refused', 'lost', 'abandoned'])('leaves alone what is %s', async (state) => {
    const id = await put(state, 'company_mappings', 2)
    await adopt()
    expect(await submission(id)).toMatchObject({ run_id: earlier, state, failures: 5 })
  })

  it.each<SubmissionState>(['planned', 'sending', 'uncertain', 'accepted', 'terminal'])(
    'abandons a search that is %s: it has its own',
    async (state) => {
      const id = await put(state, searchKind, 2)
      await adopt()
      expect(await submission(id)).toMatchObject({ run_id: earlier, state: 'abandoned' })
    },
  )

  it('plans afresh what was planned and never written, because its rows may have changed', async () => {
    await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    const [id = 0] = await ledger.plan(earlier, mappingKind)
    const run = await adopt()
    expect(await submission(id)).toMatchObject({ run_id: earlier, state: 'abandoned' })
    expect((await ledger.row('properties', 'H-1')).held_by).toBeNull()
    const [again] = await ledger.plan(run, mappingKind)
    expect(again).toBeGreaterThan(id)
  })

  it('plans afresh what was written and has surely not left, as when the key was denied', async () => {
    await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    const [id = 0] = await ledger.plan(earlier, mappingKind)
    await ledger.db.updateTable('submission').set({ payload_bytes: 2, attempts: 1 }).execute()
    await adopt()
    expect(await submission(id)).toMatchObject({ run_id: earlier, state: 'abandoned' })
    expect((await ledger.row('properties', 'H-1')).held_by).toBeNull()
  })

  it.each(searchKinds)('leaves no search of the kind %s to an earlier one', async (kind) => {
    const id = await put('accepted', kind, 2)
    await adopt()
    expect(await submission(id)).toMatchObject({ run_id: earlier, state: 'abandoned' })
  })

  it('touches nothing of a run that is under way', async () => {
    const id = await put('accepted', 'company_mappings', 2)
    await ledger.inTransaction((trx) => adoptUnfinished(trx, earlier, searchKinds))
    expect(await submission(id)).toMatchObject({ run_id: earlier, failures: 5 })
  })
})
