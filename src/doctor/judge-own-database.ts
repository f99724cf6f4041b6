import { advice, error, type Found, ok, warning } from './ward.ts'

const oldestVersion = 150_000
const newestMajor = 18
const wrapAround = 2_000_000_000

/** Version, and whether it can be written at all, any text. Pure. */
export function judgeServer({ version, shown, encoding, standby, read_only }: ServerFacts): Found[] {
  const found: Found[] = []
  if (version < oldestVersion) found.push(error(`PostgreSQL ${shown} is too old`, 'use PostgreSQL 15 to 18'))
  else if (Math.floor(version / 10_000) > newestMajor) {
    found.push(
      advice(
        `PostgreSQL ${shown} is newer than those that Nightferry is tested with`,
        'use PostgreSQL 15 to 18, or watch closely',
      ),
    )
  }
  if (encoding !== 'UTF8') {
    found.push(
      error(
        `The database is in ${encoding}, which cannot hold every text`,
        'createdb --encoding=UTF8 --template=template0, and name that one with DATABASE_URL; nightferry backup, with the version that has worked with it until now, and restore-backup move a ledger',
      ),
    )
  }
  if (standby) found.push(error('The server is a standby: nothing can be written', 'set DATABASE_URL to the primary'))
  if (read_only)
    found.push(
      error(
        'The role or the database is set to read only',
        'alter role … reset default_transaction_read_only, or the same of the database',
      ),
    )
  return found.length > 0 ? found : [ok(`PostgreSQL ${shown}, and it can be written`)]
}

/** Pure. */
export function judgeOwnRights({ may_create, schemas, foreign_tables }: RightFacts): Found[] {
  const foreign = schemas.filter(({ owned }) => !owned).map(({ name }) => name)
  if (foreign.length > 0) {
    return [
      error(
        `The role does not own the schemas ${foreign.join(', ')}`,
        `alter schema … owner to the role of DATABASE_URL, or connect as their owner`,
      ),
    ]
  }
  if (foreign_tables > 0) {
    return [
      error(
        `The role does not own ${foreign_tables} tables of ours, so migrations cannot change them`,
        'reassign owned by … to the role of DATABASE_URL',
      ),
    ]
  }
  if (schemas.length < 2 && !may_create) {
    return [
      error(
        'The role may not make the schemas nightferry and nightferry_queue',
        'grant create on database … to the role of DATABASE_URL',
      ),
    ]
  }
  return [ok('The role may do what Nightferry does')]
}

/** `free` does not count the connection that asks. Pure. */
export function judgeConnections(limit: number, free: number, needed: number): Found[] {
  const have = `${free} of ${limit} connections are free, and a process that carries rows needs up to ${needed}`
  const todo =
    'raise max_connections (or the limit of the role or database), or lower engine.submissionsAtOnce and pull.pagesAtOnce'
  if (limit < needed)
    return [
      error(`The server allows ${limit} connections, and a process that carries rows needs up to ${needed}`, todo),
    ]
  return free < needed
    ? [warning(have, `${todo}; if such a process is at work already, its own are among those taken`)]
    : [ok(have)]
}

const mebibyte = 1024 ** 2
/** Less is gone within a night's temporary files. */
const leastFree = 256 * mebibyte
const littleFree = 1024 * mebibyte

/** Free bytes beside what the database takes. Pure. */
export function judgeDisk(free: number | null, taken: number): Found[] {
  const size = `the database takes ${inWords(taken)}`
  if (free === null)
    return [
      advice(
        `How much disk the server has free cannot be seen from here; ${size}`,
        'watch the disk of the database server',
      ),
    ]
  const what = `${inWords(free)} of disk are free, and ${size}`
  const todo = 'make room, or keep less: nightferry run housekeeping --dry-run says what it would remove'
  if (free < leastFree) return [error(what, todo)]
  // A vacuum full or an index that is rebuilt needs room beside what there is.
  return free < Math.max(littleFree, taken / 5) ? [warning(what, todo)] : [ok(what)]
}

function inWords(bytes: number): string {
  const [unit, size] = bytes >= 1024 * mebibyte ? ['GiB', 1024 * mebibyte] : ['MiB', mebibyte]
  return `${(bytes / Number(size)).toFixed(bytes >= 10 * Number(size) ? 0 : 1)} ${unit}`
}

/** Fewer rows are read quickly whatever is between them. */
const fewRows = 100_000
const longMs = 7 * 86_400_000

/** Dead rows, and statistics by which the server plans. Pure. */
export function judgeTables(
  tables: readonly TableFacts[],
  { autovacuum, frozen_age }: ServerFacts,
  oldestTransaction: number | null,
  now: Date,
): Found[] {
  const found: Found[] = []
  if (!autovacuum) found.push(warning('autovacuum is off', 'switch autovacuum on, or run vacuum analyze every night'))
  if (frozen_age > wrapAround * 0.6) {
    found.push(
      error(
        `${frozen_age} transactions are not frozen; at 2 billion the server stops`,
        'vacuum freeze the database, and see what keeps autovacuum from it',
      ),
    )
  }
  const hour = 3_600
  if (oldestTransaction !== null && oldestTransaction > 12 * hour) {
    found.push(
      warning(
        `A transaction has been open for ${Math.floor(oldestTransaction / hour)} hours, and keeps dead rows from being removed`,
        'find it in pg_stat_activity, and end it',
      ),
    )
  }
  const bloated = tables.filter(({ live, dead }) => dead > fewRows && dead > live)
  if (bloated.length > 0) {
    const words = bloated.map(({ table, dead, live }) => `${table} (${dead} dead, ${live} live)`).join(', ')
    found.push(
      warning(
        `More dead rows than live ones in ${words}`,
        `vacuum analyze ${bloated[0]?.table}, and see what keeps autovacuum from it`,
      ),
    )
  }
  const stale = tables.filter(
    ({ live, dead, analyzed_at }) =>
      live + dead > fewRows && (analyzed_at === null || now.getTime() - analyzed_at.getTime() > longMs),
  )
  if (stale.length > 0) {
    found.push(
      advice(
        `Not analysed within a week: ${stale.map(({ table }) => table).join(', ')}`,
        `analyze ${stale[0]?.table}; right after a restore, analyze all of it`,
      ),
    )
  }
  return found.length > 0 ? found : [ok(`${tables.length} tables, none with many dead rows`)]
}

/** Which copy of the database this is, beside the one that the newest run ended in. Pure. */
export function judgeCopy(copy: string | null, ofRun: { runId: number; copy: string } | null): Found[] {
  if (copy === null)
    return [
      advice(
        'The server does not tell a restored database from the one before',
        'after a restore, follow docs/runbook.md by hand',
      ),
    ]
  if (ofRun === null) return [ok('No run has ended here yet')]
  if (copy === ofRun.copy) return [ok(`The database is the one that run ${ofRun.runId} ended in`)]
  return [
    warning(
      `The database is another copy than the one that run ${ofRun.runId} ended in: a backup came back, or it was moved`,
      'docs/runbook.md says what to do when a backup came back',
    ),
  ]
}

export type ServerFacts = {
  /** Such as 180001. */
  version: number
  shown: string
  encoding: string
  standby: boolean
  read_only: boolean
  autovacuum: boolean
  /** Transactions until the oldest row of the database has to be frozen, of 2 billion. */
  frozen_age: number
}

export type RightFacts = {
  may_create: boolean
  /** Of our schemas those that there are, and whether the role owns them. */
  schemas: { name: string; owned: boolean }[]
  /** Tables in them that the role does not own: a migration could not change them. */
  foreign_tables: number
}

export type TableFacts = {
  /** With its schema, as SQL names it: some of our tables are the queue's. */
  table: string
  bytes: number
  live: number
  dead: number
  vacuumed_at: Date | null
  analyzed_at: Date | null
}
