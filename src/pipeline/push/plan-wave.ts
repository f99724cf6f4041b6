import type { Transaction } from 'kysely'
import { planKind } from '../../db/ledger/plan-kind.ts'
import type { Run } from '../../db/tables/run.ts'
import type { Schema } from '../../db/tables/schema.ts'
import type { Deps } from '../deps.ts'
import { kindNames, kinds } from './kinds.ts'
import { unfinishedStates } from './submission-state.ts'

/**
 * Cuts every ready row into submissions and asks for each to be looked at. Runs at the start of the push and
 * after every settlement, so that rows go out as soon as what they require is accepted.
 *
 * @returns whether anything is still under way: planned now, or not yet at its end.
 */
export async function planWave(deps: Deps, run: Run, trx: Transaction<Schema>): Promise<boolean> {
  const { config, now } = deps
  for (const name of kindNames) {
    const kind = kinds[name]
    const streams = kind.streams.filter((stream) => config.streams[stream])
    if (streams.length === 0) continue
    const planned = await planKind(trx, {
      runId: run.run_id,
      kind: name,
      streams,
      requires: Object.fromEntries(streams.map((stream) => [stream, config.streams[stream]?.requires ?? []])),
      partitionBy: kind.partitionBy,
      maxRows: kind.maxRows(config.push),
      resendStreams: ['properties'],
      resendBefore: new Date(now().getTime() - config.push.resendUnmatchedAfterMs),
    })
    await deps.looks.atSubmissions(trx, planned)
    if (planned.length > 0) {
      deps.logger.info({ run_id: run.run_id, kind: name, submissions: planned.length }, 'wave_planned')
    }
  }
  const unfinished = await trx
    .selectFrom('submission')
    .select('submission_id')
    .where('run_id', '=', run.run_id)
    .where('kind', 'in', kindNames)
    .where('state', 'in', unfinishedStates)
    .limit(1)
    .executeTakeFirst()
  return unfinished !== undefined
}
