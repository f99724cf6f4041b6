import { beforeEach, describe, expect, it, vi } from 'vitest'
import { adoptUnfinished } from '../../../../src/db/runs/run-life.ts'
import type { Deps } from '../../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { searchKinds } from '../../../../src/pipeline/streams/kind-names.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { patience } from '../../../helpers/patience.ts'
import { openFerry } from '../ferry.ts'
import { properties } from '../poison-service.ts'
import { type Answer, json, service } from '../service.ts'

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const post = '/api/v1/bulk/company-mappings'
const path = `/api/v2/bulk/tasks/${correlationId}`
const bare = json({ correlationId, status: 'Error' })

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** A request of four rows, sent to a service that fails over it. */
async function sent(deps: Deps): Promise<number> {
  const id = await ferry.planned(deps, 'properties', properties(4))
  await lookAtSubmission(deps, id)
  return id
}

/** Ends the run, and begins another, which takes over what that left. */
async function nextRun(): Promise<number> {
  const run = await ferry.ledger.startRun()
  await ferry.ledger.inTransaction((trx) => adoptUnfinished(trx, run, searchKinds))
  return run
}

/** Unfinished requests with the runs that they belong to. */
const unfinished = () =>
  ferry.ledger.db.selectFrom('submission').select('run_id').where('state', '=', 'planned').execute()

/** One after the other of what a run plans. */
async function planned(deps: Deps): Promise<number[]> {
  await ferry.wave(deps)
  return (await unfinished()).map(({ run_id }) => run_id)
}

describe('a request that is split while its run ends', () => {
  it('a request that is split while another run takes over leaves no halves behind', async () => {
    await using server = await service({ [post]: [json({ correlationId })], [path]: [bare] })
    await using deps = ferry.deps(server.url)
    const warned = vi.spyOn(deps.logger, 'warn')
    const id = await sent(deps)
    const [isSplit, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow: Deps = {
      ...deps,
      looks: {
        ...deps.looks,
        atRun: async (...look) => {
          isSplit.resolve()
          await mayEnd.promise
          await deps.looks.atRun(...look)
        },
      },
    }
    const settling = lookAtSubmission(slow, id)
    await isSplit.promise
    const takingOver = nextRun()
    await vi.waitFor(async () => {
      const { rows } = await ferry.ledger.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      expect(rows).toHaveLength(1)
    }, patience)
    mayEnd.resolve()
    await settling
    const run = await takingOver
    expect(warned.mock.calls).toEqual([[expect.objectContaining({ verdict: 'split' }), 'submission_split']])
    expect(await planned(deps)).toEqual([run])
    expect(await ferry.ledger.row('properties', 'H-000')).toMatchObject({ outcome: 'unknown' })
  })

  it('a request whose run ended while its task was read is settled, and split by nobody', async () => {
    const endsRun: Answer = async (response) => {
      await ferry.ledger.db.updateTable('run').set({ state: 'failed' }).execute()
      bare(response)
    }
    await using server = await service({ [post]: [json({ correlationId })], [path]: [endsRun] })
    await using deps = ferry.deps(server.url)
    const warned = vi.spyOn(deps.logger, 'warn')
    const id = await sent(deps)
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('settled')
    expect(warned.mock.calls).toEqual([[expect.objectContaining({ parts: [] }), 'submission_failed_whole']])
    expect(await unfinished()).toEqual([])
    expect(await ferry.ledger.row('properties', 'H-000')).toMatchObject({ outcome: 'unknown', held_by: null })
    const run = await nextRun()
    expect(await planned(deps)).toEqual([run])
  })
})
