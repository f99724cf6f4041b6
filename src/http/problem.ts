import { STATUS_CODES } from 'node:http'
import { type Config, isOurStream, streamNames } from '../config/schema.ts'

/** A request that cannot be answered as it was meant: an answer of `application/problem+json` (RFC 9457). */
export class Problem extends Error {
  readonly status: number
  readonly code: string

  /** @param code stable, in snake_case; the words may change. */
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** What is told of an error whose code a verb would have shown as well; of any other nothing but that it happened. */
const statusOf: Readonly<Record<string, number>> = {
  usage: 400,
  config_invalid: 400,
  submission_unknown: 404,
  body_unwritten: 409,
  body_removed: 410,
  submission_state: 409,
  submission_busy: 409,
  submission_elsewhere: 409,
  task_not_adoptable: 409,
  job_unknown: 404,
  job_option_refused: 400,
  job_paused: 409,
  job_busy: 409,
  run_under_way: 409,
  resend_beyond_guard: 409,
  hotel_unknown: 404,
  hotel_suspended: 409,
  pilot_unknown: 409,
  name_taken: 409,
  destination_outdated: 409,
  destination_changed: 409,
  database_unreachable: 503,
  database_read_only: 503,
  disk_full: 503,
  exchange_unreachable: 502,
  exchange_failed: 502,
  exchange_throttled: 502,
  exchange_unauthorized: 502,
  exchange_forbidden: 502,
  exchange_not_found: 502,
  exchange_refused: 502,
  exchange_answer_malformed: 502,
  proxy_unauthorized: 502,
  lookup_unusable: 409,
  partner_unreachable: 502,
  partner_query_failed: 502,
  partner_query_too_slow: 502,
  partner_driver_missing: 409,
  partner_snapshot_off: 409,
  partner_too_old: 409,
}

/** PostgreSQL ended a statement that took longer than `http.statementTimeoutMs`. */
const statementTimedOut = '57014'

/** What was given is of a form that PostgreSQL cannot take: a date that is none, a number beyond its range. */
const notTakenByDatabase = /^22\w{3}$/

/** It answers, also /readyz, and takes no writes: a person has to do something. */
const takesNoWrites: Readonly<Record<string, readonly [code: string, detail: string]>> = {
  '53100': ['disk_full', "The disk of Nightferry's database is full: free space there. Nothing is half-written."],
  '25006': ['database_read_only', "Nightferry's database takes no writes: it is a standby, or set to read only."],
}

/** The database cannot be worked with now: connections, resources, a server that stops or lets nobody in. */
const awayCodes = /^(08\w{3}|53\w{3}|57P\w{2}|55000|3D000|28\w{3}|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)$/

/** The driver has no code for these. */
const awayWords =
  /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered)/

/** Whether it is the database that does not answer, or cannot be worked with. Pure. */
export function isDatabaseAway({ code, message = '' }: { code?: unknown; message?: string }): boolean {
  return typeof code === 'string' ? awayCodes.test(code) : awayWords.test(message)
}

export type ProblemBody = { type: string; title: string; status: number; code: string; detail: string }

/** An error as the body of an answer. Pure. */
export function problemOf(error: unknown): ProblemBody {
  const { code, message, status, statusCode } = error as {
    code?: unknown
    message?: string
    status?: unknown
    statusCode?: unknown
  }
  if (error instanceof Problem) return body(error.status, error.code, error.message)
  if (code === statementTimedOut) {
    return body(503, 'took_too_long', 'The query took longer than http.statementTimeoutMs. Narrow it down by a filter.')
  }
  if (typeof code === 'string' && notTakenByDatabase.test(code)) {
    return body(400, 'request_malformed', 'A value is of a form or size that cannot be looked for.')
  }
  const unwritable = typeof code === 'string' ? takesNoWrites[code] : undefined
  if (unwritable !== undefined) return body(503, ...unwritable)
  const known = typeof code === 'string' ? statusOf[code] : undefined
  if (typeof code === 'string' && known !== undefined) return body(known, code, message ?? '')
  // The web server's own refusals: a body that is too large or no JSON, a media type that it does not know.
  const refused = [status, statusCode].find((one) => typeof one === 'number' && one >= 400 && one < 500)
  if (typeof refused === 'number') return body(refused, 'request_malformed', message ?? 'The request is malformed.')
  if (isDatabaseAway(error as Error)) {
    const detail = "Nightferry's database cannot be worked with now; GET /readyz says when it can."
    return body(503, 'database_unreachable', detail)
  }
  return body(500, 'internal_error', 'Something went wrong that should not; the log of the daemon has the details.')
}

function body(status: number, code: string, detail: string): ProblemBody {
  return { type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, code, detail }
}

/**
 * Makes sure that a stream which a request names is one of ours, or one that the configuration reads.
 * @throws {Problem} 404 otherwise: of a misspelt one there are no rows, which would look as if all were well.
 */
export function knownStream({ streams }: Config, stream: string): string {
  if (isOurStream(stream) || Object.hasOwn(streams, stream)) return stream
  const added = Object.keys(streams).filter((name) => !isOurStream(name))
  const all = [...streamNames, ...added].join(', ')
  throw new Problem(404, 'stream_unknown', `There is no stream ${stream}; there are ${all}.`)
}
