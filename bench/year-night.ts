import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { memoryOf, processorOf } from './memory.ts'
import type { YearWorld } from './year-world.ts'

/** What a night and the day after it came to. */
export type NightFigures = {
  night: number
  verdict: string
  seconds: number
  /** Seconds of processor time of the daemon and of our server, over night and day. */
  daemonProcessor: number
  serverProcessor: number
  /** Bytes of the daemon's own memory when all was done, and the most that it had resident so far. */
  memory: number
  peak: number
  /** Files and sockets that the daemon holds open. */
  descriptors: number
  connections: number
  databaseBytes: number
  /** Under the data folder, without the write-ahead log, which the server keeps to a size of its own. */
  files: number
  fileBytes: number
  queueRows: number
  runs: number
  submissions: number
  /** Requests of this night; POSTs made again over a lost answer; rows sent that another request had carried. */
  requests: number
  repeats: number
  resent: number
  polls: number
}

/** A night or a housekeeping that has not ended after so long never will. Milliseconds. */
const patienceMs = 600_000

/** What people change in a day, of one hotel after the other: rows come and go, and none grows. */
export async function spendDay({ partner, clock }: YearWorld, night: number, hotels: number): Promise<void> {
  const hotel = 1 + (night % hotels)
  const at = clock.now()
  await partner.query('begin')
  await partner.query(
    `update hotelier.hotel set name = regexp_replace(name, ' no\\. \\d+$', '') || $2, updated_at = $3 where hotel_id = $1`,
    [hotel, ` no. ${night % 7}`, at],
  )
  await partner.query(
    `update hotelier.meter_reading set value = 100 + (value + $2) % 1000, updated_at = $3 where hotel_id = $1`,
    [hotel, night, at],
  )
  await partner.query(
    `update hotelier.sustainability_answer set value = (20 + ($2::int * 7 + length(data_point_id::text)) % 60)::text, updated_at = $3
     where hotel_id = $1 and value ~ '^[0-9]+$'`,
    [hotel, night, at],
  )
  // An answer is taken back, and given again when it is the next hotel's turn.
  await partner.query(
    `with gone as (delete from hotelier.sustainability_answer where hotel_id = $1 and value ~ '^[0-9]+$'
       and data_point_id = (select max(data_point_id::text)::uuid from hotelier.sustainability_answer where hotel_id = $1 and value ~ '^[0-9]+$')
       returning *)
     insert into hotelier.taken_back select * from gone`,
    [hotel],
  )
  await partner.query(
    `with back as (delete from hotelier.taken_back where hotel_id <> $1 returning *)
     insert into hotelier.sustainability_answer
     select hotel_id, data_point_id, framework_id, period_type, year, month, value, value_type, unit_id, $2::timestamptz from back`,
    [hotel, at],
  )
  await partner.query('commit')
}

/** Has a job started by a row, and waits until its run has ended. @returns the run. */
export async function runJob({ own, daemon, logFile }: YearWorld, job: string) {
  const { rows } = await own.query<{ id: string }>(
    'insert into job_request (job) values ($1) returning request_id as id',
    [job],
  )
  const until = performance.now() + patienceMs
  for (;;) {
    const { rows: runs } = await own.query<{ run_id: number; state: string; verdict: string | null; seconds: number }>(
      `select run_id, run.state, verdict, extract(epoch from finished_at - started_at)::float8 as seconds
       from run join job_request using (run_id) where request_id = $1`,
      [rows[0]?.id],
    )
    const [run] = runs
    if (run !== undefined && run.state !== 'running') return run
    if (daemon.exitCode !== null || performance.now() > until) {
      throw new Error(`${job} did not end:\n${readFileSync(logFile, 'utf8').split('\n').slice(-30).join('\n')}`)
    }
    await delay(25)
  }
}

/** Processor time that the daemon and our server have used so far. */
export function usedBy({ daemon, ownServer }: YearWorld): { daemon: number; server: number } {
  return { daemon: processorOf(daemon.pid), server: processorOfServer(ownServer) }
}

/** What is there once night and day are over. */
export async function figuresOf(world: YearWorld, run: { run_id: number; verdict: string | null; seconds: number }) {
  const { own, daemon, ownFolder } = world
  const { rows } = await own.query<Record<string, string>>(
    `select (select count(*) from pg_stat_activity where datname = current_database()
               and application_name <> 'nightferry bench' and backend_type = 'client backend') as connections,
            pg_database_size(current_database()) as "databaseBytes",
            (select count(*) from nightferry_queue.job) as "queueRows",
            (select count(*) from run) as runs, (select count(*) from submission) as submissions,
            (select count(*) from submission where run_id = $1) as requests,
            (select coalesce(sum(repeats), 0) from submission where run_id = $1) as repeats,
            (select coalesce(sum(polls), 0) from submission where run_id = $1) as polls,
            (select count(*) from submission where run_id = $1 and (parent_id is not null or state in ('lost', 'refused')
               or rest_outcome = 'unknown')) as resent`,
    [run.run_id],
  )
  const counted = Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)]))
  const { files, bytes } = filesUnder(ownFolder)
  return {
    ...(counted as Pick<
      NightFigures,
      | 'connections'
      | 'databaseBytes'
      | 'queueRows'
      | 'runs'
      | 'submissions'
      | 'requests'
      | 'repeats'
      | 'polls'
      | 'resent'
    >),
    verdict: run.verdict ?? 'none',
    seconds: run.seconds,
    memory: memoryOf(daemon.pid, 'RssAnon'),
    peak: memoryOf(daemon.pid, 'VmHWM'),
    descriptors: readdirSync(`/proc/${daemon.pid}/fd`).length,
    files,
    fileBytes: bytes,
  }
}

/** Bytes of each table of ours, with its indexes. */
export async function tableBytes({ own }: YearWorld): Promise<Map<string, number>> {
  const { rows } = await own.query<{ name: string; bytes: string }>(
    `select oid::regclass::text as name, pg_total_relation_size(oid) as bytes from pg_class
     where relkind = 'r' and relnamespace not in ('pg_toast'::regnamespace)`,
  )
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]))
}

/** Of a server: its own, that of the backends there are, and that of those that ended. */
function processorOfServer(postmaster: number): number {
  const backends = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ')
  const fields = readFileSync(`/proc/${postmaster}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  const ended = (Number(fields[13]) + Number(fields[14])) / 100
  return ended + [postmaster, ...backends.map(Number)].reduce((sum, pid) => sum + processorOf(pid), 0)
}

function filesUnder(folder: string): { files: number; bytes: number } {
  let [files, bytes] = [0, 0]
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.parentPath.includes('/pg_wal')) continue
    const found = statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })
    if (found === undefined) continue
    files += 1
    bytes += found.size
  }
  return { files, bytes }
}
