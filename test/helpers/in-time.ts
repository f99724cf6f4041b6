import { setImmediate, setTimeout } from 'node:timers/promises'

/**
 * Whether a promise is settled when a timer of this process ends that was set now. A process that is kept waiting by a
 * busy machine is late with both, so this fails for the promise alone, where a clock would fail for the machine as
 * well.
 * @param milliseconds until the timer ends.
 */
export async function inTime(milliseconds: number, promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  )
  const late = setTimeout(milliseconds, false).then(async () => {
    // What had arrived by then is still to be handled.
    for (let turn = 0; turn < 100; turn++) await setImmediate()
    return false
  })
  return await Promise.race([settled, late])
}
