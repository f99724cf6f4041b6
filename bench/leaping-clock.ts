import { existsSync, writeFileSync } from 'node:fs'

/** Where Debian's package puts it, on both processors that it is built for. */
const libraries = ['x86_64', 'aarch64'].map((cpu) => `/usr/lib/${cpu}-linux-gnu/faketime/libfaketimeMT.so.1`)

/**
 * A clock for other processes, which leaps ahead for all of them at once. Timers go on by the clock that nobody sets.
 */
export type LeapingClock = {
  /** What a process needs in its environment to go by this clock. */
  environment: Record<string, string>
  now(): Date
  leapTo(moment: Date): void
}

/**
 * @param file where the leap is kept; every user that goes by the clock has to be able to read it.
 * @throws when the library that shows processes another time is not installed.
 */
export function createLeapingClock(file: string): LeapingClock {
  const library = libraries.find(existsSync)
  if (library === undefined) throw new Error('libfaketime is missing: apt-get install libfaketime')
  let aheadSeconds = 0
  const keep = () => writeFileSync(file, `+${aheadSeconds}s\n`, { mode: 0o644 })
  keep()
  return {
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      // A leap holds from the next look at the clock on.
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    now: () => new Date(Date.now() + aheadSeconds * 1000),
    leapTo: (moment) => {
      const next = Math.ceil((moment.getTime() - Date.now()) / 1000)
      if (next < aheadSeconds) throw new Error(`${moment.toISOString()} lies in the past`)
      aheadSeconds = next
      keep()
    },
  }
}
