/** Preloaded into a process of ours, it sets that process's clock off by `CLOCK_SHIFT_MS` milliseconds, for good. */
const shiftMs = Number(process.env.CLOCK_SHIFT_MS ?? '0')
const RealDate = globalThis.Date
const now = () => RealDate.now() + shiftMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: unknown[], made) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, made) as Date,
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
})
