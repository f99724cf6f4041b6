/**
 * What a stopping process may take for everything but the work at hand, before it is cut off: closing connections, and
 * telling an embedded server to stop. Milliseconds.
 */
const closingMs = 1_000

/** For a verb that has no such setting, and for a process that is told to stop while it starts. Milliseconds. */
const usualWorkMs = 8_000

let workMs = () => usualWorkMs

/** Says how long the work at hand may take after the first signal: a setting that may change, so it is asked then. */
export function allowForWork(settingMs: () => number): void {
  workMs = settingMs
}

/** Milliseconds after the first signal at which the process ends, whatever has not ended by then. */
export function shutdownLimitMs(): number {
  return workMs() + closingMs
}
