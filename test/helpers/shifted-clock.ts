import { readFileSync } from 'node:fs'

/**
 * Preloaded into a process of ours, it sets that process's clock off: for good by `CLOCK_SHIFT_MS` milliseconds, or by
 * what stands in the file `CLOCK_SHIFT_FILE` at each look at the clock.
 */
const fixedMs = Number(process.env.CLOCK_SHIFT_MS ?? '0')
const file = process.env.CLOCK_SHIFT_FILE
const RealDate = globalThis.Date
const now = () => RealDate.now() + (file === undefined ? fixedMs : Number(readFileSync(file, 'utf8')))

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: unknown[], made) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, made) as Date,
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
})
