import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type pg from 'pg'
import { chainOf, type NightTimes, type Path, pathOf, type SubmissionTimes } from './night-path.ts'
import {
  machineSeconds,
  mapParties,
  type Peaks,
  parties,
  type Seconds,
  type Spell,
  spellOf,
  watchProcessors,
} from './night-processors.ts'
import type { NightWorld } from './night-world.ts'

export const nightNames = ['first', 'unchanged', '1 %'] as const
export type NightName = (typeof nightNames)[number]

/** One step of the run, or what the process does before the first and after the last. */
export type StepSpent = { name: string; seconds: number; used: Seconds; rows: number | null } & Spell

export type StatementSpent = { seconds: number; calls: number; rows: number; text: string }

export type NightSpent = {
  night: NightName
  /** From the start of the process to its end. */
  seconds: number
  /** Without what only the service did, and without standing in line for a processor. */
  own: number
  used: Seconds
  /**
   * Processor time of everything else on the machine, this benchmark included: it makes a night slower, and look idle.
   */
  others: number
  peaks: Peaks
  steps: StepSpent[]
  path: Path
  statements: StatementSpent[]
  /** Bytes of the ledger's tables with their indexes, and how many rows it has. */
  ledger: { bytes: number; rows: number }
}

/** A transaction that planned submissions of a kind was committed. */
type Wave = { kind: string; at: number }

type LoggedEvent = { msg: string; step?: string; kind?: string; time: string }

/** Statements that are listed. */
const statementsShown = 15

/**
 * Runs one night in a process of its own, as a person would, and tells where its time went.
 * @param profileFolder where a profile of our process is kept, if anywhere; taking it costs time of its own.
 */
export async function runNight(world: NightWorld, night: NightName, profileFolder?: string): Promise<NightSpent> {
  const { own, members } = world
  await own.query('checkpoint')
  await own.query('select public.pg_stat_statements_reset()')
  const spawnedAt = Date.now()
  const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profileFolder)}`]
  const child = spawn(process.execPath, [...profiling, world.script, 'run', 'nightly-sync', ...optionsOf(world)], {
    cwd: world.folder,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: world.ownUrl,
      PARTNER_DATABASE_URL: world.partnerUrl,
      EXCHANGE_BASE_URL: world.serviceUrl,
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  if (child.pid === undefined) throw new Error('the process did not start')
  const watch = watchProcessors({ ...members, ours: { programs: [child.pid], servers: [] } })
  const before = watch.now()
  const machineBefore = machineSeconds()
  const ended = once(child, 'exit') as Promise<[number | null]>
  const done: { name: string; at: number; used: Seconds }[] = []
  const waves: Wave[] = []
  const said: string[] = []
  for await (const line of createInterface({ input: child.stderr as Readable })) {
    const event = line.startsWith('{') ? (JSON.parse(line) as LoggedEvent) : null
    if (event?.msg === 'step_done') done.push({ name: event.step ?? '', at: Date.parse(event.time), used: watch.now() })
    if (event?.msg === 'wave_planned') waves.push({ kind: event.kind ?? '', at: Date.parse(event.time) })
    said.push(line)
  }
  const [code] = await ended
  const endedAt = Date.now()
  const { slices, peaks } = watch.stop()
  const last = watch.now()
  const used = mapParties((party) => last[party] - before[party])
  const known = parties.reduce((sum, party) => sum + used[party], 0)
  // 3: something needs a person, as in every night of the demo.
  if (code !== 0 && code !== 3) throw new Error(`the night ended with ${code}: ${said.slice(-5).join('\n')}`)

  const run = await lastRun(own)
  const ends = [...done, { name: 'report', at: run.finishedAt, used: last }]
  const steps = ends.map(({ name, at }, index) => ({ name, from: ends[index - 1]?.at ?? run.startedAt, to: at }))
  const times: NightTimes = {
    spawnedAt,
    endedAt,
    runStartedAt: run.startedAt,
    runFinishedAt: run.finishedAt,
    steps,
    submissions: await submissionTimes(world, run.id, waves),
    loadedAt: await pageTimes(own, run.id),
  }
  const rows = await rowsOf(own, run.id)
  const whole = spellOf(slices, spawnedAt, endedAt)
  const stretches = [
    { name: 'process starts', from: spawnedAt, to: run.startedAt },
    ...steps,
    { name: 'process ends', from: run.finishedAt, to: endedAt },
  ]
  return {
    night,
    seconds: (endedAt - spawnedAt) / 1000,
    own: (endedAt - spawnedAt) / 1000 - whole.service - whole.queued,
    used,
    others: machineSeconds() - machineBefore - known,
    peaks,
    steps: stretches.map(({ name, from, to }) => ({
      name,
      seconds: (to - from) / 1000,
      used: usedBetween(slices, from, to),
      rows: rows[name] ?? null,
      ...spellOf(slices, from, to),
    })),
    path: pathOf(chainOf(times), slices),
    statements: await statementsOf(own),
    ledger: await ledgerOf(own),
  }
}

function optionsOf({ configFile }: NightWorld): string[] {
  // At `info` the verb says nothing of its steps, because it shows them to a person by itself.
  return ['--config', configFile, '--set', 'log.level=debug']
}

function usedBetween(slices: Parameters<typeof spellOf>[0], from: number, to: number): Seconds {
  const used: Seconds = { ours: 0, database: 0, partner: 0, service: 0 }
  for (const slice of slices) {
    const share = (Math.min(to, slice.at) - Math.max(from, slice.from)) / (slice.at - slice.from)
    if (share > 0) for (const party of parties) used[party] += slice.used[party] * share
  }
  return used
}

async function lastRun(own: pg.Client): Promise<{ id: string; startedAt: number; finishedAt: number }> {
  const { rows } = await own.query<{ run_id: string; state: string; started_at: Date; finished_at: Date }>(
    'select run_id, state, started_at, finished_at from run order by run_id desc limit 1',
  )
  const [run] = rows
  if (run?.state !== 'finished') throw new Error(`the last run is ${run?.state ?? 'missing'}`)
  return { id: run.run_id, startedAt: run.started_at.getTime(), finishedAt: run.finished_at.getTime() }
}

async function submissionTimes(
  { own, sandbox }: NightWorld,
  runId: string,
  waves: readonly Wave[],
): Promise<SubmissionTimes[]> {
  const { rows } = await own.query<Record<string, Date | string | number>>(
    `select submission_id::integer as id, kind, kind like '%\\_search' as search, correlation_id, planned_at, attempted_at, accepted_at,
            terminal_at, settled_at
     from submission where run_id = $1 and state = 'settled' and correlation_id is not null`,
    [runId],
  )
  const { rows: tasks } = await sandbox.query<{ id: string; finished_at: Date }>(
    'select id, finished_at from sandbox.task where id = any($1::uuid[])',
    [rows.map(({ correlation_id }) => correlation_id)],
  )
  const finished = new Map(tasks.map(({ id, finished_at }) => [id, finished_at.getTime()]))
  const moment = (value: unknown) => (value as Date).getTime()
  return rows.map((row) => ({
    submissionId: Number(row.id),
    search: Boolean(row.search),
    plannedAt: moment(row.planned_at),
    committedAt: committedAt(waves, String(row.kind), moment(row.planned_at)),
    attemptedAt: moment(row.attempted_at),
    acceptedAt: moment(row.accepted_at),
    finishedAt: finished.get(String(row.correlation_id)) ?? moment(row.terminal_at),
    terminalAt: moment(row.terminal_at),
    settledAt: moment(row.settled_at),
  }))
}

/** A search is planned by itself, and its transaction is short. */
function committedAt(waves: readonly Wave[], kind: string, plannedAt: number): number {
  return waves.find((wave) => wave.kind === kind && wave.at >= plannedAt)?.at ?? plannedAt
}

async function pageTimes(own: pg.Client, runId: string): Promise<number[]> {
  const { rows } = await own.query<{ loaded_at: Date }>(
    `select loaded_at from search_page join submission using (submission_id)
     where run_id = $1 and loaded_at is not null`,
    [runId],
  )
  return rows.map(({ loaded_at }) => loaded_at.getTime())
}

/** Rows that a step handled. */
async function rowsOf(own: pg.Client, runId: string): Promise<Record<string, number>> {
  const { rows } = await own.query<Record<string, string>>(
    `select (select coalesce(sum(read), 0) from run_stream where run_id = $1) as extract,
            (select coalesce(sum(pending), 0) from run_stream where run_id = $1) as preflight,
            (select count(*) from submission_row join submission using (submission_id) where run_id = $1) as push,
            (select coalesce(sum(values), 0) from search_page join submission using (submission_id) where run_id = $1) as pull,
            (select coalesce(sum(inputs), 0) from input_comparison where run_id = $1) as compare`,
    [runId],
  )
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([step, count]) => [step, Number(count)]))
}

/** By total time; those on temporary tables are told apart by their text, because each night makes the tables again. */
async function statementsOf(own: pg.Client): Promise<StatementSpent[]> {
  const { rows } = await own.query<{ seconds: number; calls: string; rows: string; text: string }>(
    `select sum(total_exec_time) / 1000 as seconds, sum(calls)::text as calls, sum(rows)::text as rows,
            regexp_replace(btrim(query), '\\s+', ' ', 'g') as text
     from public.pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database())
     group by 4 order by 1 desc limit $1`,
    [statementsShown],
  )
  return rows.map(({ seconds, calls, rows: count, text }) => ({
    seconds,
    calls: Number(calls),
    rows: Number(count),
    text,
  }))
}

/** Change it with the tables: what holds content and acceptance of the partner's rows. */
const ledgerTables = ['source_row', 'acceptance']

async function ledgerOf(own: pg.Client): Promise<{ bytes: number; rows: number }> {
  const { rows } = await own.query<{ bytes: string; rows: string }>(
    `select sum(pg_total_relation_size(to_regclass(name)))::text as bytes, (select count(*) from source_row)::text as rows
     from unnest($1::text[]) name`,
    [ledgerTables],
  )
  return { bytes: Number(rows[0]?.bytes ?? 0), rows: Number(rows[0]?.rows ?? 0) }
}
