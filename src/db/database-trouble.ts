/**
 * Our own database, or the system under it, refused. The message is theirs, and then what to do; the code is ours,
 * because theirs says neither.
 */
export class DatabaseTrouble extends Error {
  readonly code:
    | 'database_unreachable'
    | 'database_not_ready'
    | 'database_read_only'
    | 'database_connections_exhausted'
    | 'database_permission_denied'
    | 'database_out_of_memory'
    | 'database_conflict'
    | 'database_interrupted'
    | 'disk_full'
    | 'files_exhausted'
    | 'file_not_accessible'

  constructor(code: DatabaseTrouble['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DatabaseTrouble'
    this.code = code
  }
}

type Known = { code: DatabaseTrouble['code']; remedy: string }

const unreachable: Known = {
  code: 'database_unreachable',
  remedy: "The connection to Nightferry's database broke. Check that the server is up; what was begun is found again.",
}
const notReady: Known = {
  code: 'database_not_ready',
  remedy: 'The server starts, recovers or stops. Wait until its log says that it accepts connections.',
}
const diskFull: Known = {
  code: 'disk_full',
  remedy: 'Free space where it lies, and run again: nothing is half-written.',
}
const conflict: Known = {
  code: 'database_conflict',
  remedy: "Two transactions stood in each other's way, and this one was rolled back. Run the verb again.",
}
const interrupted: Known = {
  code: 'database_interrupted',
  remedy:
    "Nightferry's sessions have no time-outs but its own, so a person, a program that watches the server, or a pooler before it ended this. Look in the server's log, and take such a limit back for Nightferry.",
}
const filesExhausted: Known = {
  code: 'files_exhausted',
  remedy: 'Raise the limit of open files (ulimit -n; LimitNOFILE of a systemd unit).',
}
const notAccessible: Known = {
  code: 'file_not_accessible',
  remedy: 'Give the user who runs Nightferry the right to it, or name another place.',
}

/** By SQLSTATE, or by its class, and by the system's codes. */
const known: Readonly<Record<string, Known>> = {
  '08': unreachable,
  '57P01': unreachable,
  '57P02': unreachable,
  ECONNREFUSED: unreachable,
  ECONNRESET: unreachable,
  EPIPE: unreachable,
  ETIMEDOUT: unreachable,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ENOTFOUND: unreachable,
  EAI_AGAIN: unreachable,
  '57P03': notReady,
  '25006': {
    code: 'database_read_only',
    remedy:
      'The server is a standby, or set to read only (default_transaction_read_only). Set DATABASE_URL to the primary.',
  },
  '53300': {
    code: 'database_connections_exhausted',
    remedy:
      'Raise max_connections, or the limit of the role or database; or lower engine.submissionsAtOnce and pull.pagesAtOnce, of which one process needs 2.25 connections each (docs/runbook.md).',
  },
  '42501': {
    code: 'database_permission_denied',
    remedy:
      'The role of DATABASE_URL must own the schemas nightferry and nightferry_queue, or be allowed to create them: grant create on database … to ….',
  },
  '53200': {
    code: 'database_out_of_memory',
    remedy: 'Give the database server more memory, or lower its work_mem; then run again.',
  },
  '53100': diskFull,
  ENOSPC: diskFull,
  EDQUOT: diskFull,
  '40001': conflict,
  '40P01': conflict,
  '57014': interrupted,
  '25P03': interrupted,
  '25P04': interrupted,
  EMFILE: filesExhausted,
  ENFILE: filesExhausted,
  EACCES: notAccessible,
  EPERM: notAccessible,
  EROFS: notAccessible,
}

/** The driver has no code for these. */
const withoutCode =
  /^(Connection terminated|timeout expired$|timeout exceeded when trying to connect|Client has encountered a connection)/

/**
 * The same error, or one with a code of ours and a remedy where the server or the system named trouble that people can
 * end. Errors that have a code of ours are left as they are.
 */
export function withRemedy(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code } = error as { code?: unknown }
  const found =
    typeof code === 'string'
      ? (known[code] ?? (/^[0-9A-Z]{5}$/.test(code) ? known[code.slice(0, 2)] : undefined))
      : withoutCode.test(error.message)
        ? unreachable
        : undefined
  if (found === undefined) return error
  const said = (error.message || String(code)).replace(/[.:]?$/, '.')
  return new DatabaseTrouble(found.code, `${said} ${found.remedy}`, { cause: error })
}

/** PgBouncer says each of its refusals with it, that of a wrong password too. */
const saidByPooler = '08P01'

/**
 * Whether a server cannot be reached, or starts or stops: it may be there in a moment, with nobody doing anything here.
 * What it refuses for a reason of its own, such as a wrong password, it will refuse again.
 */
export function isServerAway(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  if (code === saidByPooler) return false
  // The socket of a server on this machine is there while the server is.
  if (code === 'ENOENT') return syscall === 'connect'
  const named = withRemedy(error)
  return named instanceof DatabaseTrouble && awayCodes.has(named.code)
}

/**
 * Whether a process that works already may wait until trouble with its database passes: a server that is away, or lacks
 * connections, memory or space. A pooler says with one code that the server behind it is away and that it refuses who
 * asks, so its refusals count as well. Of what remains a new process may be free: one that reads the password again, or
 * whose connections do not hang.
 */
export function mayPass(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code === 'string' && (code === saidByPooler || lacksResources.test(code))) return true
  return isServerAway(error) && !isNoneFree(error)
}

/** Whether none of a pool's connections became free in time: those that have them hang, or are too many. */
function isNoneFree(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}

const awayCodes: ReadonlySet<DatabaseTrouble['code']> = new Set(['database_unreachable', 'database_not_ready'])

const sqlState = /^[0-9A-Z]{5}$/

/** SQLSTATEs of the class of what a server has too little of. */
const lacksResources = /^53[0-9A-Z]{3}$/

/**
 * Whether a query failed because its connection was lost or could not be had, so that another attempt may do better.
 * The driver gives such errors a code of the system, or none; the server says it with class 08, or 57 when it ends a
 * session.
 */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof TypeError) return false
  const { code } = error as { code?: unknown }
  return typeof code !== 'string' || !sqlState.test(code) || /^(08|57)/.test(code)
}
