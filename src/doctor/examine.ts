import { setTimeout as delay } from 'node:timers/promises'
import { configurationChecks } from './configuration-checks.ts'
import { webhookChecks } from './delivery-checks.ts'
import { clockChecks, downloadChecks, serviceChecks } from './exchange-checks.ts'
import { lookupChangeChecks, lookupChecks } from './lookup-checks.ts'
import { ownDatabaseChecks } from './own-database-checks.ts'
import { partnerChecks } from './partner-checks.ts'
import { notificationChecks, scheduleChecks } from './schedule-checks.ts'
import { CannotLook, type Check, type Finding, type Found, type Ward } from './ward.ts'

/** How long one check may take: all of them together are a matter of a minute or two at the worst. Milliseconds. */
export const patienceMs = 20_000

/**
 * Makes one check after the other, each within its time. A check that cannot be made is a finding itself.
 */
export async function examine(
  checks: readonly Check[],
  ward: Ward,
  { patience = patienceMs, signal }: { patience?: number; signal?: AbortSignal } = {},
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const check of checks) {
    signal?.throwIfAborted()
    findings.push(...(await made(check, ward, patience)))
  }
  return findings
}

async function made(check: Check, ward: Ward, patience: number): Promise<Finding[]> {
  const over = new AbortController()
  const late = delay(patience, undefined, { signal: over.signal }).then(() => {
    throw new CannotLook(`it took longer than ${patience / 1000} s`)
  })
  // Whichever comes second is nobody's any more.
  late.catch(() => {})
  try {
    const working = check.run(ward)
    working.catch(() => {})
    const found = await Promise.race([working, late])
    return found.map((one) => findingOf(check, one, true))
  } catch (error) {
    return [findingOf(check, notMade(error), false)]
  } finally {
    over.abort()
  }
}

function notMade(error: unknown): Found {
  const what = `not looked at: ${(error as Error).message || String(error)}`
  if (!(error instanceof CannotLook)) return { level: 'warning', what, todo: 'read the reason' }
  return { level: error.level, what, todo: 'end what keeps it from being made, and ask again' }
}

function findingOf({ id, group, why }: Check, { level, what, todo, subject }: Found, made: boolean): Finding {
  return { id, group, subject: subject ?? null, level, what, why: level === 'ok' ? null : why, todo, made }
}

/** Every check, in the order in which its findings are told. Another group joins here, and in `groups`. */
export const checks: readonly Check[] = [
  ...serviceChecks,
  ...configurationChecks,
  ...lookupChecks,
  ...partnerChecks,
  ...ownDatabaseChecks,
  ...lookupChangeChecks,
  ...clockChecks,
  ...downloadChecks,
  ...webhookChecks,
  ...notificationChecks,
  ...scheduleChecks,
]
