import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Job } from '../../src/jobs/job.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { triggerRun } from '../../src/jobs/trigger-run.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'

let ferry: Ferry
let deps: Deps & AsyncDisposable
beforeAll(async () => {
  ferry = await openFerry()
  deps = ferry.deps('http://127.0.0.1:9')
})
beforeEach(() => ferry.clear())
afterAll(async () => {
  await deps[Symbol.asyncDispose]()
  await ferry.close()
})

const push: Job = { ...nightlySync, name: 'push' }
const at = new Date('2026-11-21T02:30:00Z')
const runs = () => ferry.ledger.db.selectFrom('run').selectAll().orderBy('run_id').execute()
const finish = () => ferry.ledger.db.updateTable('run').set({ state: 'finished' }).execute()

describe('triggering', () => {
  it('begins a run at the first step and asks for a look at it', async () => {
    const triggered = await triggerRun(deps, nightlySync, 'cli', at)
    expect(triggered).toMatchObject({ resumed: false, run: { state: 'running', step: 'reference', resumed: 0 } })
    expect(await ferry.asked()).toEqual([{ look: `look-at-run ${triggered?.run.run_id}`, inMs: 0 }])
  })

  it('triggering that breaks off before anybody was asked to look has begun nothing', async () => {
    const cutOff: Deps = {
      ...deps,
      looks: { ...deps.looks, atRun: () => Promise.reject(new Error('Connection terminated unexpectedly')) },
    }
    await expect(triggerRun(cutOff, nightlySync, 'schedule', at)).rejects.toThrow('Connection terminated')
    expect(await runs()).toEqual([])
    expect(await triggerRun(deps, nightlySync, 'schedule', at)).toMatchObject({ resumed: false })
    expect(await ferry.asked()).toHaveLength(1)
  })

  it('goes on with the run that is under way instead of beginning another', async () => {
    const first = await triggerRun(deps, nightlySync, 'cli', at)
    const second = await triggerRun(deps, nightlySync, 'cli', new Date(at.getTime() + 1))
    expect(second).toMatchObject({ resumed: true, run: { run_id: first?.run.run_id } })
    expect(await runs()).toMatchObject([{ resumed: 1 }])
    expect(await ferry.asked()).toHaveLength(2)
  })

  it('uses up no number of a run while another is in the way', async () => {
    const first = await triggerRun(deps, nightlySync, 'cli', at)
    for (let time = 1; time <= 5; time++) {
      expect(await triggerRun(deps, push, 'table', new Date(at.getTime() + time))).toBeNull()
    }
    await finish()
    const next = await triggerRun(deps, push, 'table', at)
    expect(next?.run.run_id).toBe((first?.run.run_id ?? 0) + 1)
  })

  it('many who trigger at once begin one run', async () => {
    const triggered = await Promise.all(
      Array.from({ length: 6 }, (_, index) => triggerRun(deps, nightlySync, 'cli', new Date(at.getTime() + index))),
    )
    expect(triggered.filter((one) => one?.resumed === false)).toHaveLength(1)
    expect(await runs()).toHaveLength(1)
  })

  it('an occurrence that ran already begins nothing', async () => {
    await triggerRun(deps, nightlySync, 'schedule', at)
    await finish()
    await ferry.asked()
    expect(await triggerRun(deps, nightlySync, 'missed', at)).toBeNull()
    expect(await runs()).toHaveLength(1)
    expect(await ferry.asked()).toEqual([])
    expect(await triggerRun(deps, nightlySync, 'schedule', new Date(at.getTime() + 86_400_000))).not.toBeNull()
  })

  it('a second trigger asks for a look at all that the run may be waiting for', async () => {
    const triggered = await triggerRun(deps, nightlySync, 'cli', at)
    const run_id = triggered?.run.run_id ?? 0
    const [open, done] = await ferry.ledger.db
      .insertInto('submission')
      .values([
        { run_id, kind: 'company_mappings', state: 'accepted', row_count: 0 },
        { run_id, kind: 'calculators_search', state: 'settled', row_count: 0 },
      ])
      .returning('submission_id')
      .execute()
    const pages = await ferry.ledger.db
      .insertInto('search_page')
      .values(
        (['listed', 'loaded', 'failed'] as const).map((state, ordinal) => ({
          submission_id: done?.submission_id ?? 0,
          ordinal,
          url: 'https://x/',
          state,
        })),
      )
      .returning('page_id')
      .execute()
    await ferry.asked()
    await triggerRun(deps, nightlySync, 'cli', at)
    expect((await ferry.asked()).map(({ look }) => look)).toEqual([
      `look-at-page ${pages[0]?.page_id}`,
      `look-at-run ${run_id}`,
      `look-at-submission ${open?.submission_id}`,
    ])
  })

  it('takes over what a failed run left in flight, and looks at it', async () => {
    const id = await ferry.planned(deps, 'properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    await ferry.ledger.markSent(id)
    await ferry.ledger.db.updateTable('run').set({ state: 'failed' }).execute()
    await ferry.asked()
    const triggered = await triggerRun(deps, nightlySync, 'cli', at)
    expect(triggered?.resumed).toBe(false)
    expect((await ferry.submission(id)).run_id).toBe(triggered?.run.run_id)
    expect((await ferry.asked()).map(({ look }) => look)).toContain(`look-at-submission ${id}`)
  })

  it('keeps neither run nor look when one of the two cannot be stored', async () => {
    const unstorable: Job = { name: 'nightly-sync', steps: [{ name: '\0', run: async () => 'done' }] }
    await expect(triggerRun(deps, unstorable, 'cli', at)).rejects.toThrow()
    expect(await runs()).toEqual([])
    expect(await ferry.asked()).toEqual([])
  })
})
