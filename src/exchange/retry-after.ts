/** The three date forms of RFC 9110; `Date.parse` alone would also take "2 days" or "-5". */
const httpDate = /^(Mon|Tues?|Wed(nes)?|Thu(rs)?|Fri|Sat(ur)?|Sun)(day)?,? /

/** Fractions are no part of the RFC, but services send them, and they can mean one thing only. */
const seconds = /^\d+(\.\d+)?$/

/**
 * Milliseconds that a `Retry-After` header asks for: seconds, or an HTTP date. Pure.
 *
 * Of several headers, or several numbers of seconds joined by commas, the longest counts: waiting for too long only
 * delays. Undefined when nothing of it makes sense. Never above `capMs`, so that no answer can stop a night; a date in
 * the past is 0.
 */
export function retryAfterMs(
  header: string | readonly string[] | undefined,
  nowMs: number,
  capMs: number,
): number | undefined {
  const asked = (typeof header === 'string' ? [header] : (header ?? []))
    .flatMap((text) => (/^[\d\s.,]+$/.test(text) ? text.split(',') : [text]))
    .map((text) => oneMs(text.trim(), nowMs))
    .filter((ms) => ms !== undefined)
  return asked.length === 0 ? undefined : Math.min(Math.max(...asked), capMs)
}

function oneMs(text: string, nowMs: number): number | undefined {
  if (seconds.test(text)) return Math.ceil(Number(text) * 1000)
  if (!httpDate.test(text)) return undefined
  // The asctime form names no zone and means GMT; Date.parse would read it as local time.
  const dateMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(dateMs) ? undefined : Math.max(dateMs - nowMs, 0)
}
