import { type RawBuilder, sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { rowsInState } from '../../../src/db/ledger/rows-in-state.ts'
import { type ResendPolicy, releaseByPolicy } from '../../../src/db/ledger/rows-to-retry.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(() => ledger.clear())

const hour = 3_600_000
const policy = (change: Partial<ResendPolicy> = {}): ResendPolicy => ({
  stream: 'properties',
  code: 'NotFound',
  after_ms: hour,
  times: null,
  ...change,
})
const kind = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }

/** Sends what is ready in a new run, and has the service reject it. @returns how many rows went out. */
async function rejectedInRun(code = 'NotFound'): Promise<number> {
  const run = await ledger.startRun()
  const submissions = await ledger.plan(run, kind)
  let rows = 0
  for (const id of submissions) {
    rows += (await ledger.keysOf(id)).length
    await ledger.markSent(id)
    await ledger.settleAll(id, 'rejected')
  }
  await sql`update acceptance set outcome_code = ${code} where outcome = 'rejected'`.execute(ledger.db)
  return rows
}

/** A moment after the last rejection. */
const later = (ms: number) => new Date(Date.now() + ms)
const property = (name: string) => ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name } }])

describe('a rejected row', () => {
  it('a rejected row is sent again once the time has come, and not before', async () => {
    await property('a')
    await rejectedInRun()
    expect(await releaseByPolicy(ledger.db, streamNames, [policy()], later(hour - 60_000))).toBe(0)
    expect(await rejectedInRun()).toBe(0)
    expect(await releaseByPolicy(ledger.db, streamNames, [policy()], later(hour))).toBe(1)
    expect(await rejectedInRun()).toBe(1)
  })

  it('a rejected row that is invalid by now takes none of the times of a policy', async () => {
    await property('a')
    await rejectedInRun()
    await sql`update acceptance set invalid_reason = 'its question is gone'`.execute(ledger.db)
    expect(await releaseByPolicy(ledger.db, streamNames, [policy({ times: 1 })], later(hour))).toBe(0)
    await sql`update acceptance set invalid_reason = null`.execute(ledger.db)
    expect(await releaseByPolicy(ledger.db, streamNames, [policy({ times: 1 })], later(hour))).toBe(1)
  })

  it('a rejected row does not wait for a time that lies ahead, because the clock was put back since', async () => {
    await property('a')
    await rejectedInRun()
    await sql`update acceptance set outcome_at = clock_timestamp() + interval '1 year'`.execute(ledger.db)
    const [row] = await rowsInState(ledger.db, 'rejected', { requires: {}, policies: [policy()], limit: 10 })
    expect(row?.policy_after?.getTime()).toBeLessThanOrEqual(later(hour).getTime())
    expect(await releaseByPolicy(ledger.db, streamNames, [policy()], later(0))).toBe(1)
  })

  it.each<[string, ResendPolicy[]]>([
    ['no policy has its code, for a part of it is not enough', [policy({ code: 'Not' })]],
    ['the policy with its code is for another stream', [policy({ stream: 'omissions' })]],
    ['there is no policy', []],
  ])('stays where it is when %s', async (_, policies) => {
    await property('a')
    await rejectedInRun()
    expect(await releaseByPolicy(ledger.db, streamNames, policies, later(100 * hour))).toBe(0)
  })

  it('a policy that names no stream counts for rejected rows of every stream, and the first policy that fits counts', async () => {
    await property('a')
    await rejectedInRun()
    const policies = [policy({ stream: null, after_ms: 2 * hour }), policy({ after_ms: 0 })]
    expect(await releaseByPolicy(ledger.db, streamNames, policies, later(hour))).toBe(0)
    expect(await releaseByPolicy(ledger.db, streamNames, policies, later(2 * hour))).toBe(1)
  })

  it('a rejected row is sent once more in a run at most, though the service always rejects it and the policy has no bound', async () => {
    await property('a')
    await rejectedInRun()
    const policies = [policy({ after_ms: 0 })]
    for (let night = 0; night < 5; night++) {
      const run = await ledger.startRun()
      expect(await releaseByPolicy(ledger.db, streamNames, policies, later(1))).toBe(1)
      let sent = 0
      // Waves are planned again after every settlement, and preflight may be repeated after a crash.
      for (let wave = 0; wave < 4; wave++) {
        for (const id of await ledger.plan(run, kind)) {
          sent += 1
          await ledger.markSent(id)
          await ledger.settleAll(id, 'rejected')
          await sql`update acceptance set outcome_code = 'NotFound'`.execute(ledger.db)
        }
        await releaseByPolicy(ledger.db, streamNames, policies, later(1))
      }
      expect(sent).toBe(1)
      await sql`update acceptance set refused_hash = wanted_hash`.execute(ledger.db)
    }
  })

  it('a rejected row is sent again as often as the policy says for the same content, and again once that has changed', async () => {
    const policies = [policy({ times: 2 })]
    const nights = async () => {
      const sent = []
      for (let night = 0; night < 4; night++) {
        await releaseByPolicy(ledger.db, streamNames, policies, later(2 * hour))
        sent.push(await rejectedInRun())
      }
      return sent
    }
    await property('a')
    expect(await nights()).toEqual([1, 1, 1, 0])
    await property('b')
    expect(await nights()).toEqual([1, 1, 1, 0])
    expect(await ledger.row('properties', 'H-1')).toMatchObject({ resent_count: 2 })
  })

  it.each(['held_by', 'gone_at', 'guard_run'])('stays where it is with a %s', async (column) => {
    await property('a')
    await rejectedInRun()
    const change: Record<string, RawBuilder<unknown>> = {
      held_by: sql`
        insert into held_property (partner_id, stream, submission_id)
        select distinct partner_id, stream, (select max(submission_id) from submission) from source_row`,
      gone_at: sql`update source_row set gone_at = now()`,
      guard_run: sql`update source_row set guard_run = (select max(run_id) from run), guard_change = 'changed'`,
    }
    await (change[column] ?? sql``).execute(ledger.db)
    expect(await releaseByPolicy(ledger.db, streamNames, [policy()], later(2 * hour))).toBe(0)
  })

  it('says when a policy sends it again, and for which time, as long as one does', async () => {
    await property('a')
    await rejectedInRun()
    const listed = async (policies: ResendPolicy[]) => {
      const [row] = await rowsInState(ledger.db, 'rejected', { requires: {}, policies, limit: 10 })
      return [row?.policy_after?.getTime() ?? null, row?.policy_sent, row?.policy_times]
    }
    const at = (await ledger.row('properties', 'H-1')).outcome_at?.getTime() ?? 0
    expect(await listed([])).toEqual([null, null, null])
    expect(await listed([policy({ times: 1 })])).toEqual([at + hour, 0, 1])
    await releaseByPolicy(ledger.db, streamNames, [policy({ times: 1 })], later(2 * hour))
    await rejectedInRun()
    expect(await listed([policy({ times: 1 })])).toEqual([null, null, null])
    expect((await listed([policy()])).slice(1)).toEqual([1, null])
  })
})
