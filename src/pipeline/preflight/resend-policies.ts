import { type Config, notMatchedCode } from '../../config/schema.ts'
import type { ResendPolicy } from '../../db/ledger/resend-policy.ts'
import type { Contract } from '../../exchange/contract.ts'

/** `push.retries` with the code of an unmatched property as the service spells it. Pure. */
export function resendPolicies({ push }: Config, { names }: Contract): ResendPolicy[] {
  return push.retries.map(({ stream, code, afterMs, times }) => ({
    stream: stream ?? null,
    code: code === notMatchedCode ? names.companyMappingsResult.notFound : code,
    after_ms: afterMs,
    times,
  }))
}
