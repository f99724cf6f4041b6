import { RequestRefused } from '../request-refused.ts'
import type { ReadRequest } from '../requests/read-bulk-request.ts'
import type { Chaos } from './chaos.ts'
import { rowsOf } from './poison-rows.ts'
import { rowsNotAccepted } from './request-profiles.ts'

const refusals = {
  '400': { status: 400, code: 'request_invalid' },
  '422': { status: 422, code: 'request_unprocessable' },
} as const

/**
 * The refusal of an import that holds a refused row, and the name under which the log has it; no row is named. The same
 * row has the same fate in every request. Cases that were asked for by name come first. Null where it holds none.
 */
export function refusalOverRows(chaos: Chaos, request: ReadRequest): { name: string; refused: RequestRefused } | null {
  const { any, cases } = rowsNotAccepted
  const active = chaos.active()
  if (![any, ...cases.values()].some(({ name }) => active.has(name))) return null
  const rows = rowsOf(request)
  for (const [status, { name }] of cases) {
    if (rows.some((row) => chaos.fate(name, row))) return { name, refused: refusal(status) }
  }
  const row = rows.find((one) => chaos.fate(any.name, one))
  if (row === undefined) return null
  const status = chaos.fate(any.name, `${row} 400`) ? '400' : '422'
  return { name: cases.get(status)?.name ?? any.name, refused: refusal(status) }
}

function refusal(of: keyof typeof refusals): RequestRefused {
  const { status, code } = refusals[of]
  return new RequestRefused(status, code, 'Something in the request cannot be accepted.')
}
