import { createHash } from 'node:crypto'
import type { Contract } from '../../exchange/contract.ts'
import type { Deps } from '../deps.ts'
import type { RowRules } from '../streams/rules/reference-index.ts'
import { checksRevision } from './check-row.ts'
import { judgingBasis } from './judging-basis.ts'

/** What rows are judged by now: the rules that are ours, and the number of these with the reference data in force. */
export async function judgingOf({ config, contract, db, required }: Deps): Promise<{ basis: number; rules: RowRules }> {
  const rules = { maxTextLength: config.push.maxTextLength, customIdentifierId: required.customIdentifierId }
  const addedKinds = digestOf(contract.kinds)
  return { basis: await judgingBasis(db, { checks: checksRevision, ...rules, addedKinds }), rules }
}

function digestOf(kinds: Contract['kinds']): string {
  return createHash('sha256').update(JSON.stringify(kinds)).digest('hex')
}
