/** The three date forms of RFC 9110; `Date.parse` alone would also take "2 days" or "-5". */
const httpDate = /^(Mon|Tues?|Wed(nes)?|Thu(rs)?|Fri|Sat(ur)?|Sun)(day)?,? /

/**
 * Milliseconds that a `Retry-After` header asks for: seconds, or an HTTP date. Pure.
 * Undefined when it is absent or nonsense. Never above `capMs`, so that no answer can stop a night; a date in the past is 0.
 */
export function retryAfterMs(header: string | undefined, nowMs: number, capMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, capMs)
  if (!httpDate.test(text)) return undefined
  // The asctime form names no zone and means GMT; Date.parse would read it as local time.
  const dateMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  if (Number.isNaN(dateMs)) return undefined
  return Math.min(Math.max(dateMs - nowMs, 0), capMs)
}
