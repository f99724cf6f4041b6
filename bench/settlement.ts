/**
 * How fast the rows of one submission are planned and settled: node bench/settlement.ts [--rows 2000,10000,50000]
 * [--rounds 5] [--json] [--quick]
 *
 * In a ledger five times as large, whose tables the planner knows nothing of, or all of. Rows a second are of the
 * server's processor time, so they are those of one core. Brings its own PostgreSQL and removes it.
 */
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { Transaction } from 'kysely'
import type pg from 'pg'
import { createDatabase, createPool } from '../src/db/database.ts'
import { type NamedError, outcomesFromErrors } from '../src/db/ledger/error-outcomes.ts'
import { outcomesFromResultFile } from '../src/db/ledger/file-outcomes.ts'
import { planKind } from '../src/db/ledger/plan-kind.ts'
import { type RowOutcome, settleRows } from '../src/db/ledger/settle-outcomes.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import type { Schema } from '../src/db/tables/database-schema.ts'
import { openLedgerWorld } from './growth/ledger-world.ts'
import { Opened } from './opened.ts'
import { grouped, spread, tableOf } from './pull-table.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '2000,10000,50000' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})
const sizes = values.quick ? [200] : values.rows.split(',').map(Number)
const rounds = values.quick ? 1 : Number(values.rounds)

const ends = ['no row named', 'one in a hundred named', 'a result file'] as const
type End = (typeof ends)[number]
type Measured = { rows: number; statistics: boolean; what: string; seconds: number; processor: number }
const measured: Measured[] = []

await using opened = new Opened()
const cluster = await opened.server(await opened.folder('settlement'))
for (let round = 1; round <= rounds; round++) {
  for (const rows of sizes) {
    for (const statistics of [false, true]) {
      for (const end of ends) measured.push(...(await measure(rows, statistics, end, round)))
    }
  }
  process.stderr.write(`round ${round} of ${rounds}\n`)
}
if (values.json) process.stdout.write(`${JSON.stringify(measured, null, 2)}\n`)
else print()

async function measure(rows: number, statistics: boolean, end: End, round: number): Promise<Measured[]> {
  const name = `settle_${rows}_${statistics ? 'known' : 'unknown'}_${ends.indexOf(end)}_${round}`
  await cluster.ensureDatabase(name)
  await migrateToLatest(cluster.url(name))
  const pool = createPool(cluster.url(name), {
    max: 1,
    applicationName: 'nightferry bench',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  try {
    const db = createDatabase(pool)
    const world = await openLedgerWorld(pool)
    await world.addRest(4 * rows)
    await pool.query(
      `with answers as (
         insert into source_row (stream, partner_id, row_key, content, desired_hash)
         select 'framework_answers', 'H-' || n / 10, n::text,
                jsonb_build_object('framework_id', 'f', 'data_point_id', 'p' || n, 'value', n::text),
                substring(sha256(n::text::bytea) for 16)
         from generate_series(1, $1::integer) n
         returning row_id, partner_id, desired_hash
       )
       insert into acceptance (row_id, partner_id, wanted_hash, checked_hash, judged_by)
       select row_id, partner_id, desired_hash, desired_hash, 1 from answers`,
      [rows],
    )
    if (statistics) await world.analyze()
    const runId = await world.startRun()
    const timed = async <T>(what: string, work: (trx: Transaction<Schema>) => Promise<T>): Promise<[T, Measured]> => {
      const pid = await backendOf(pool)
      const began = performance.now()
      const before = await processorOf(pid)
      const done = await db.transaction().execute(work)
      const processor = (await processorOf(pid)) - before
      return [done, { rows, statistics, what, seconds: (performance.now() - began) / 1000, processor }]
    }
    const [[id = 0], planned] = await timed('planning', (trx) =>
      planKind(trx, {
        ...{
          runId,
          kind: 'framework_answers',
          streams: ['framework_answers'],
          kindStreams: ['framework_answers'],
          requires: {},
          partitionBy: 'framework_id',
          judgesProperties: false,
        },
        // Of one property no more than half a request.
        ...{ maxRows: 2 * rows, requests: 1, sweep: true },
      }),
    )
    if (end === 'a result file') await world.stageOutcomes(id, false)
    if (statistics) await world.analyze()
    const [, settled] = await timed(end, (trx) => settleRows(trx, id, true, () => decide(trx, id, rows, end)))
    return [planned, settled]
  } finally {
    await pool.end()
  }
}

async function decide(trx: Transaction<Schema>, id: number, rows: number, end: End): Promise<RowOutcome> {
  if (end === 'a result file') return (await outcomesFromResultFile(trx, id, { mapping: false })).rest
  const errors =
    end === 'no row named' ? [] : Array.from({ length: rows / 100 }, (_, index) => errorOf(100 * index + 1))
  return (await outcomesFromErrors(trx, id, errors, { outcome: 'inferred' })).rest
}

function errorOf(n: number): NamedError {
  return {
    ...{ company_id: null, partner_id: `H-${Math.floor(n / 10)}`, data_point_id: `p${n}`, question_id: null },
    ...{ property_id: null, standard_id: null, field_type_id: null, period_type: null, year: null, month: null },
    ...{ code: 'InvalidValue', reason: 'Not a number', why: null },
  }
}

async function backendOf(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

/** Seconds of processor time that a process has had; the system counts hundredths. */
async function processorOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function print(): void {
  const lines = sizes.flatMap((rows) =>
    [false, true].flatMap((statistics) =>
      ['planning', ...ends].map((what) => {
        const of = measured.filter((one) => one.rows === rows && one.statistics === statistics && one.what === what)
        const times = [of.map(({ seconds }) => seconds), of.map(({ processor }) => processor)]
        // The system counts hundredths of a second.
        const speed = of.map(({ processor }) => rows / Math.max(processor, 0.01))
        const known = statistics ? 'all' : 'nothing'
        return [what, grouped(rows), known, ...times.map((time) => spread(time, 2)), spread(speed, 0)]
      }),
    ),
  )
  const head = ['', 'rows', 'the planner knows', 'seconds', "server's processor", 'rows a second of it']
  process.stdout.write(tableOf(head, lines, false))
}
