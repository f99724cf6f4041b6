/**
 * How the work of every statement grows with its rows: node bench/statement-growth.ts [--rows 1000,10000,100000]
 * [--knowledge none,empty,landed,good] [--json]
 *
 * Work is the rows that the nodes of a plan visit; the time beside it is that of the server's clock. Brings its own
 * PostgreSQL and removes it. Exits with 1 if a statement grows faster than its rows.
 */
import { parseArgs } from 'node:util'
import { migrateToLatest } from '../src/db/migrate-to-latest.ts'
import { type Knowledge, knowledge } from './growth/ledger-world.ts'
import { measureNight } from './growth/measured-night.ts'
import { measurePartitions } from './growth/measured-partitions.ts'
import { measureSuspensions } from './growth/measured-suspensions.ts'
import { type Growth, growthOf, type StatementWork } from './growth/statement-work.ts'
import { Opened } from './opened.ts'
import { grouped, tableOf } from './pull-table.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000,10000,100000' },
    knowledge: { type: 'string', default: knowledge.join(',') },
    json: { type: 'boolean', default: false },
  },
})
const sizes = values.rows.split(',').map(Number)
const known = values.knowledge.split(',') as Knowledge[]

/** Statements without a problem that are shown, by their time. */
const shown = 12

type Compared = { knowledge: Knowledge; rows: number; statements: Growth[] }
const compared: Compared[] = []

await using opened = new Opened()
const cluster = await opened.server(await opened.folder('growth'), { fsync: 'off', autovacuum: 'off' })
for (const knows of known) {
  let smaller: StatementWork[] | undefined
  for (const rows of sizes) {
    const began = performance.now()
    const statements = await night(rows, knows)
    process.stderr.write(`${knows}, ${grouped(rows)} rows: ${((performance.now() - began) / 1000).toFixed(1)} s\n`)
    if (smaller !== undefined)
      compared.push({ knowledge: knows, rows, statements: growthOf(smaller, statements, rows) })
    smaller = statements
  }
}
if (values.json) process.stdout.write(`${JSON.stringify(compared, null, 2)}\n`)
else for (const comparison of compared) printGrowth(comparison)
if (compared.some(({ statements }) => statements.some(({ problem }) => problem !== null))) process.exitCode = 1

async function night(rows: number, knows: Knowledge): Promise<StatementWork[]> {
  const statements: StatementWork[] = []
  for (const measure of [measureNight, measurePartitions, measureSuspensions]) {
    const name = `growth_${knows}_${rows}_${measure.name.toLowerCase()}`
    await cluster.ensureDatabase(name)
    await migrateToLatest(cluster.url(name))
    statements.push(...(await measure(cluster.url(name), rows, knows)))
    await cluster.dropDatabase(name)
  }
  return statements
}

function printGrowth({ knowledge: knows, rows, statements }: Compared): void {
  const bad = statements.filter(({ problem }) => problem !== null).toSorted((a, b) => b.work - a.work)
  const slow = statements.filter(({ problem }) => problem === null).toSorted((a, b) => b.ms - a.ms)
  process.stdout.write(
    `\n── statistics: ${knows}; ${grouped(rows / 10)} → ${grouped(rows)} rows: ${bad.length} of ${statements.length} statements grow faster\n\n`,
  )
  const lines = [...bad, ...slow.slice(0, shown)].map(
    ({ stage, text, problem, smallWork, work, factor, nested, ms }) => [
      stage,
      problem ?? '',
      grouped(smallWork),
      grouped(work),
      smallWork === 0 ? '' : factor.toFixed(1),
      grouped(nested),
      grouped(ms),
      text.slice(0, 90).padEnd(90),
    ],
  )
  const head = ['stage', 'problem', 'visits before', 'visits', '×', 'in a nested loop', 'ms', 'statement']
  process.stdout.write(tableOf(head, lines, false))
}
