import type { z } from 'zod'
import { RequestRefused } from '../request-refused.ts'

/** How many faults a refusal names. */
const namedFaults = 5

/** A body in our own names. @throws {RequestRefused} 400 field_missing or body_invalid, which say where and what. */
export function checkBody<Body>(schema: z.ZodType<Body>, value: unknown): Body {
  const checked = schema.safeParse(value, { reportInput: true })
  if (checked.success) return checked.data
  const { issues } = checked.error
  const faults = issues.slice(0, namedFaults).map((issue) => `${placeOf(issue.path)}: ${faultOf(issue)}`)
  const more = issues.length > namedFaults ? ['and more'] : []
  const code = issues[0] && isMissing(issues[0]) ? 'field_missing' : 'body_invalid'
  throw new RequestRefused(400, code, [...faults, ...more].join('; '))
}

/** A member that is required and absent, null or, where an id is wanted, blank. */
function isMissing({ path, input }: z.core.$ZodIssue): boolean {
  return typeof path.at(-1) === 'string' && (input === undefined || input === null || input === '')
}

function faultOf(issue: z.core.$ZodIssue): string {
  return isMissing(issue) ? 'is missing' : issue.message
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((at, key) => (typeof key === 'number' ? `${at}[${key}]` : `${at}.${String(key)}`), 'body')
}
