/**
 * How long a verb takes that a person waits for, beside a bare Node.js and a bare query:
 * node bench/verbs.ts [--rows 1000000] [--rounds 5] [--json] [--markdown] [--quick]
 *
 * Builds the program, brings a PostgreSQL for Nightferry with a ledger of so many rows, and removes both. Ratios are of
 * one round. `--quick` shows that the benchmark works, not how fast anything is.
 */
import { availableParallelism, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Opened } from './opened.ts'
import { grouped, spread, tableOf } from './pull-table.ts'
import { type Called, type Spent, spentBy } from './verbs-run.ts'
import { openVerbsWorld, type VerbsWorld } from './verbs-world.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
    markdown: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})
const rows = values.quick ? 10_000 : Number(values.rows)
const rounds = values.quick ? 1 : Number(values.rounds)
/** Calls of one measurement: a bare Node.js takes few ticks of the processors' clock. */
const calls = values.quick ? 1 : 5

const root = fileURLToPath(new URL('..', import.meta.url))
const bareNode = 'node -e 0'
const bareQuery = 'pg: connect, select 1'
const bareCount = 'pg: connect, count the ledger'

await using opened = new Opened()
const world = await openVerbsWorld(opened, rows)
const lines = linesOf(world)
// What is compiled in the first call is kept for the next ones, and the server has read its tables.
for (const line of Object.values(lines)) await spentBy(line, 1)
const before = loadavg()[0] ?? 0
const measured: Record<string, Spent>[] = []
for (let round = 1; round <= rounds; round++) {
  process.stderr.write(`round ${round} of ${rounds} …\n`)
  const spent: Record<string, Spent> = {}
  for (const [name, line] of Object.entries(lines)) spent[name] = await spentBy(line, calls)
  measured.push(spent)
}
const machine = {
  cores: availableParallelism(),
  memory: totalmem(),
  load: [before, loadavg()[0] ?? 0],
  node: process.version,
}
if (values.json) process.stdout.write(`${JSON.stringify({ machine, rows, rounds: measured }, null, 2)}\n`)
else print()

function linesOf({ url, folder, script, configFile, hotel }: VerbsWorld): Record<string, Called> {
  const kept = { PATH: process.env.PATH, XDG_CACHE_HOME: join(folder, 'caches'), DATABASE_URL: url }
  const notKept = { ...kept, NODE_DISABLE_COMPILE_CACHE: '1' }
  const node = (...args: string[]): string[] => [process.execPath, ...args]
  const query = (text: string) =>
    `const client = new (require('pg').Client)(process.env.DATABASE_URL)
     client.connect().then(() => client.query('${text}')).then(() => client.end())`
  const called = (command: string[], environment: NodeJS.ProcessEnv = kept, from = folder): Called => ({
    command,
    folder: from,
    environment,
  })
  const verb = (...args: string[]) => called(node(script, ...args, '--config', configFile))
  const sources = node(join(root, 'src/from-sources.cjs'), '--version')
  return {
    [bareNode]: called(node('-e', '0')),
    '--version': called(node(script, '--version')),
    '--version, nothing kept': called(node(script, '--version'), notKept),
    '--version from the sources': called(sources),
    '--version from the sources, nothing kept': called(sources, notKept),
    [bareQuery]: called(node('-e', query('select 1')), kept, root),
    [bareCount]: called(node('-e', query('select count(*) from nightferry.ledger')), kept, root),
    status: verb('status'),
    rejected: verb('rejected'),
    trace: verb('trace', hotel),
    parked: verb('parked'),
    'status, nothing kept': called(node(script, 'status', '--config', configFile), notKept),
  }
}

function print(): void {
  const [began = 0, ended = 0] = machine.load
  process.stdout.write(
    `${machine.cores} cores, ${Math.round(machine.memory / 2 ** 30)} GiB, Node ${machine.node}, a load of ${began.toFixed(1)} as it began ` +
      `and ${ended.toFixed(1)} as it ended; ${grouped(rows)} ledger rows; ${rounds} rounds of ${calls} calls: the median (least–most).\n\n`,
  )
  const over = (of: (round: Record<string, Spent>) => number, places: number) => spread(measured.map(of), places)
  const spent = (round: Record<string, Spent>, name: string): Spent => round[name] ?? { wall: Number.NaN, processor: 0 }
  const ratio = (name: string, to: string, of: keyof Spent) =>
    over((round) => spent(round, name)[of] / spent(round, to)[of], 1)
  const head = ['', 'wall, ms', 'processor, ms', '× bare Node', 'processor × bare Node', '× bare query']
  const table = Object.keys(lines).map((name) => [
    name,
    over((round) => spent(round, name).wall * 1000, 0),
    over((round) => spent(round, name).processor * 1000, 0),
    ratio(name, bareNode, 'wall'),
    ratio(name, bareNode, 'processor'),
    lines[name]?.command.includes('--version') || name === bareNode ? '' : ratio(name, bareQuery, 'wall'),
  ])
  process.stdout.write(tableOf(head, table, values.markdown))
}
