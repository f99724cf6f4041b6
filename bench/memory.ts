import { readFileSync, writeFileSync } from 'node:fs'
import type pg from 'pg'

/** Bytes of a field of /proc/<pid>/status, such as VmHWM, the peak of what is resident; 0 when the process is gone. */
export function memoryOf(pid: number, field: 'VmHWM' | 'RssAnon'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return 1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** Ticks a second of the processor times in /proc/<pid>/stat: USER_HZ, 100 on every Linux that we know. */
const ticks = 100

/** Seconds of processor time that a process has used, user and system; 0 when it is gone. */
export function processorOf(pid: number): number {
  try {
    // The name of the program stands in brackets and may contain anything; user and system are the 14th and 15th field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticks
  } catch {
    return 0
  }
}

/** The peak begins again from what is resident now, so that each phase of a benchmark has its own. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

/** What the largest backend of the server had resident: all of it, and what it shares with no other. */
export type BackendPeak = { resident: number; anonymous: number }

/** Looks at all backends twice a second until it is stopped. */
export function watchBackends(pool: pg.Pool): { stop(): Promise<BackendPeak> } {
  const peak: BackendPeak = { resident: 0, anonymous: 0 }
  let looking: Promise<void> = Promise.resolve()
  const look = async () => {
    const { rows } = await pool.query<{ pid: number }>(
      "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
    )
    for (const { pid } of rows) {
      peak.resident = Math.max(peak.resident, memoryOf(pid, 'VmHWM'))
      peak.anonymous = Math.max(peak.anonymous, memoryOf(pid, 'RssAnon'))
    }
  }
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, 500)
  return {
    stop: async () => {
      clearInterval(timer)
      await looking
      await look()
      return peak
    },
  }
}
