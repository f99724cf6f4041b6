import { addressProblem } from '../config/database-address.ts'

/**
 * Where a URL of a database leads and why it cannot be reached, for messages. A bare mark in a password ends it early,
 * and what is taken for the host, which drivers name, is a part of the password then: of such an address nothing is
 * shown but what is wrong with it.
 */
export function whyUnreachable(url: string, error: unknown): { place: string; reason: string } {
  const { message, code } = error as { message?: string; code?: unknown }
  const said = typeof code === 'string' ? code : undefined
  if (!URL.canParse(url)) return { place: 'an address that is no URL', reason: message || said || 'no reason given' }
  const { protocol, host, pathname } = new URL(url)
  const problem = addressProblem(url, protocol.slice(0, -1))
  if (problem === null) return { place: `${host}${pathname}`, reason: message || said || 'no reason given' }
  return { place: 'an address that is not shown', reason: `it ${problem}${said === undefined ? '' : ` (${said})`}` }
}

/**
 * Milliseconds of silence after which the kernel asks whether the other end is still there. A reading is silent while
 * the partner's server thinks; without this a network that died meanwhile is noticed after two hours.
 */
export const keepAliveAfterMs = 20_000

/** A query against the partner's database failed; `code` tells what a person has to look at. */
export class PartnerDatabaseError extends Error {
  readonly code:
    | 'partner_unreachable'
    | 'partner_query_failed'
    | 'partner_query_too_slow'
    | 'partner_driver_missing'
    | 'partner_snapshot_off'
    | 'partner_too_old'

  constructor(code: PartnerDatabaseError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** @param url of the server that cannot be read. */
export function unreachable(url: string, error: unknown): PartnerDatabaseError {
  const remedy = 'Check partner.url (PARTNER_DATABASE_URL), and that its server is up.'
  return unreadable(whyUnreachable(url, error), error, remedy)
}

/**
 * @param place of a file, or of what is none.
 * @param remedy what a person can do about it, in sentences.
 */
export function unreadableFile(place: string, error: unknown, remedy: string): PartnerDatabaseError {
  return unreadable({ place, reason: reasonOf(error) }, error, remedy)
}

function unreadable(
  { place, reason }: { place: string; reason: string },
  error: unknown,
  remedy: string,
): PartnerDatabaseError {
  if (error instanceof PartnerDatabaseError) return error
  return new PartnerDatabaseError(
    'partner_unreachable',
    `The partner's database at ${place} cannot be read: ${reason}. ${remedy}`,
    { cause: error },
  )
}

export function brokeOff(stream: string, error: unknown): PartnerDatabaseError {
  return new PartnerDatabaseError(
    'partner_unreachable',
    `The partner's database broke off while the stream ${stream} was read: ${reasonOf(error)}. Nothing of this read was kept; run again.`,
    { cause: error },
  )
}

/** What helps a statement for which its server has too little, if it is right as it is. */
export const moreRoom = "give the partner's server more space or memory"

/** @param otherwise what may help where the query is right. */
export function queryFailed(stream: string, error: unknown, otherwise: string | null = null): PartnerDatabaseError {
  if (error instanceof PartnerDatabaseError) return error
  const other = otherwise === null ? '' : `, or ${otherwise}`
  return new PartnerDatabaseError(
    'partner_query_failed',
    `The query of the stream ${stream} failed: ${reasonOf(error)}. Fix streams.${stream}.query${other}.`,
    { cause: error },
  )
}

/** Asked again the query would take as long, and burden the partner's server for as long. */
export function tooSlow(stream: string, error: unknown): PartnerDatabaseError {
  return new PartnerDatabaseError(
    'partner_query_too_slow',
    `The query of the stream ${stream} took longer than a statement may: ${reasonOf(error)}. Make it quicker, or give it more time with partner.statementTimeoutMs.`,
    { cause: error },
  )
}

/** How a driver's errors are told apart. */
export type ErrorKinds = {
  /** Whether server or connection are lost, which says nothing of the statement. */
  isLost: (error: unknown) => boolean
  /** Whether the statement took longer than `partner.statementTimeoutMs`. */
  isTooSlow: (error: unknown) => boolean
  /**
   * What helps beside the query, of an error that every attempt meets and pays for: the statement itself used up the
   * space or memory of its server, or reads what is broken. Such an error is not `isLost`; null of all others.
   */
  otherwise: (error: unknown) => string | null
}

/** What an error of a driver means for the stream that was read. */
export function readFailed(stream: string, error: unknown, kinds: ErrorKinds): PartnerDatabaseError {
  if (error instanceof PartnerDatabaseError) return error
  if (kinds.isTooSlow(error)) return tooSlow(stream, error)
  return kinds.isLost(error) ? brokeOff(stream, error) : queryFailed(stream, error, kinds.otherwise(error))
}

/** @throws {PartnerDatabaseError} when a query yields less than its stream needs, or a column of these twice. */
export function requireColumns(stream: string, wanted: readonly string[], yielded: readonly string[]): void {
  const missing = wanted.filter((column) => !yielded.includes(column))
  const repeated = wanted.filter((column) => yielded.indexOf(column) !== yielded.lastIndexOf(column))
  if (missing.length === 0 && repeated.length === 0) return
  const wrong =
    missing.length > 0
      ? `does not yield ${missing.join(', ')}; it yields ${yielded.join(', ')}`
      : `yields ${repeated.join(', ')} more than once, and nobody can tell which is meant`
  throw new PartnerDatabaseError(
    'partner_query_failed',
    `The query of the stream ${stream} ${wrong}. Fix streams.${stream}.query.`,
  )
}

function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  return message && message !== '' ? message : (code ?? 'no reason given')
}
