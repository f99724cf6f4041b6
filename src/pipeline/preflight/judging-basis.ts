import { sql } from 'kysely'
import { type Config, notMatchedCode } from '../../config/schema.ts'
import type { Database } from '../../db/database.ts'
import type { ResendPolicy } from '../../db/ledger/resend-policy.ts'
import type { Contract } from '../../exchange/contract.ts'

/** What rows are judged by besides the reference data. A change of any of it makes rows be judged again. */
export type JudgingRules = {
  checks: number
  maxTextLength: number
  customIdentifierId: string
  /** A digest of the kinds of request that the contract adds. */
  addedKinds: string
}

/**
 * What `judged_by` says of a row that was judged by a basis as it landed, and not yet compared with other rows.
 * Pure.
 */
export function notCompared(basis: number): number {
  return -basis
}

/** The number of what rows are judged by now: the version of the reference data in force, and our own rules. */
export async function judgingBasis(db: Database, rules: JudgingRules): Promise<number> {
  const { rows } = await sql<{ basis: number }>`
    with wanted as (
      -- Versions are numbered by destination.
      select destination_in_use() as destination_id,
             coalesce((select max(version) from reference_version), 0) as reference_version,
             ${JSON.stringify(rules)}::jsonb as rules
    ),
    made as (
      insert into judging_basis (destination_id, reference_version, rules)
      select * from wanted
      where not exists (select from judging_basis join wanted using (destination_id, reference_version, rules))
      on conflict do nothing
      returning basis
    )
    select basis from made
    union all
    select basis from judging_basis join wanted using (destination_id, reference_version, rules)`.execute(db)
  const [found] = rows
  // Nothing is returned where another process made the same one at the same moment: then it is there now.
  return found === undefined ? await judgingBasis(db, rules) : found.basis
}

/** The kinds of finding that make a row invalid, in the words of the index `row_finding_contradiction`. */
export const contradictionKinds = sql`'answered_and_declined', 'two_frameworks', 'two_partner_ids'`

/** `push.retries` with the code of an unmatched property as the service spells it. Pure. */
export function resendPolicies({ push }: Config, { names }: Contract): ResendPolicy[] {
  return push.retries.map(({ stream, code, afterMs, times }) => ({
    stream: stream ?? null,
    code: code === notMatchedCode ? names.companyMappingsResult.notFound : code,
    after_ms: afterMs,
    times,
  }))
}
