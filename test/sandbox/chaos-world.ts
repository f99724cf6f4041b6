import { expect, it } from 'vitest'
import type { OpenSandbox } from './open-sandbox.ts'

/** A line of the log, as the administration API tells it. */
export type LogLine = {
  id: number
  at: string
  profileId: number | null
  method: string
  path: string
  httpStatus: number | null
  correlationId: string | null
  task: number | null
  phase: string
  status: string | null
  identifiers: string[] | null
  chaos: string[] | null
}

/** The only profiles that are on from now on. */
export async function switchTo(sandbox: OpenSandbox, profiles: Record<string, number>): Promise<void> {
  const answer = await sandbox.call('PUT', '/sandbox/chaos', { body: { profiles } })
  expect(answer.status).toBe(200)
}

/** Every line behind the one with this id. */
export async function readLog(sandbox: OpenSandbox, after = 0): Promise<LogLine[]> {
  const { body } = await sandbox.call<{ lines: LogLine[] }>('GET', `/sandbox/log?after=${after}&limit=10000`)
  return body.lines
}

/** The lines on which chaos stands. */
export async function struckLines(sandbox: OpenSandbox, after = 0): Promise<LogLine[]> {
  return (await readLog(sandbox, after)).filter(({ chaos }) => chaos !== null)
}

/** The names of everything that struck since the line with this id, each once. */
export async function struckNames(sandbox: OpenSandbox, after: number): Promise<string[]> {
  const lines = await struckLines(sandbox, after)
  return [...new Set(lines.flatMap(({ chaos }) => chaos ?? []))].toSorted()
}

/** A test that shows the profile of this name happening. The list of all profiles is compared with these names. */
export function shows(name: string, what: string, test: () => Promise<void>): void {
  it(`${name}: ${what}`, test)
}
