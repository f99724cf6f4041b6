import { readRefusal } from '../../exchange/call-service.ts'
import { HttpError } from '../../exchange/errors.ts'
import type { Bench } from '../bench.ts'
import type { Check } from './check.ts'

/** A rule for clients, shown on our own side. */
export function ourSide(check: Check): Check {
  return async (bench) => {
    const { seen, verdict } = await check(bench)
    return { seen: `our side: ${seen}`, verdict }
  }
}

/** An error's body with a code of ours. */
export function errorBody({ contract }: Pick<Bench, 'contract'>, code: string): Record<string, unknown> {
  const { errorCode, message } = contract.names.error
  return { [errorCode]: code, [message]: 'in words' }
}

/** What our client makes of a refusal. */
export function refusalOf(bench: Bench, status: number, body: unknown): HttpError {
  const answer = {
    status,
    headers: {},
    body: Buffer.from(JSON.stringify(body)),
    nowMs: bench.now(),
    maxRetryAfterMs: 1000,
    conceal: (text: string) => text,
  }
  return new HttpError({ method: 'GET', url: bench.wire.baseUrl }, readRefusal(bench.contract, answer))
}
