/** By how much the daemon's clock is ahead of this computer's. Milliseconds. */
let ahead = 0

/** A header tells whole seconds, and an answer is under way for a while: less than this is no difference. */
const tellingMs = 3_000

/** Learns the daemon's clock from the header `Date` of an answer that has just come. */
export function learnClock(header: string | null): void {
  const there = Date.parse(header ?? '')
  if (Number.isNaN(there)) return
  const found = there - Date.now()
  if (Math.abs(found - ahead) > tellingMs) ahead = Math.abs(found) > tellingMs ? found : 0
}

/** What the time is by the daemon's clock, which all its moments are of. Milliseconds since 1970. */
export function nowThere(): number {
  return Date.now() + ahead
}
