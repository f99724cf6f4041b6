/**
 * How long a page of calculators takes to load, beside a bare COPY of the same rows and beside what people write: npm
 * run bench -- [--quick] [--companies 20000] [--rounds 5] [--lines 1,2,3,4,5,6,7,8,9] [--rss 2000,20000,200000]
 *                  [--pages 20] [--download] [--seed 1] [--markdown]
 *
 * Brings its own PostgreSQL, one for Nightferry and one for the sandbox, and removes both. Every line of every round is
 * a process of its own (load-process.ts). A round runs all lines one after the other, each round beginning with
 * another; ratios are of one round, and their median is given.
 */
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { buildLoadProcess } from './build-process.ts'
import { Opened } from './opened.ts'
import { grouped, median, megabytes, spread, tableOf } from './pull-table.ts'
import { type Measured, openPullWorld } from './pull-world.ts'
import type { StoredPage } from './sandbox-file.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    companies: { type: 'string' },
    rounds: { type: 'string' },
    lines: { type: 'string', default: '1,2,3,4,5,6,7,8,9' },
    pages: { type: 'string', default: '20' },
    rss: { type: 'string' },
    seed: { type: 'string', default: '1' },
    download: { type: 'boolean', default: false },
    markdown: { type: 'boolean', default: false },
  },
})
/** Small enough for every CI run: it shows that the benchmark works, not how fast anything is. */
const companies = whole(options.companies ?? (options.quick ? '500' : '20000'), '--companies')
const rounds = whole(options.rounds ?? (options.quick ? '1' : '5'), '--rounds')
const lines = new Set(options.lines.split(',').map((line) => whole(line, '--lines', 9)))
const sizes = (
  options.rss ??
  (options.quick ? '100' : [0.1, 1, 10].map((times) => Math.max(1, Math.round(times * companies))).join(','))
)
  .split(',')
  .map((size) => whole(size, '--rss'))
const seed = whole(options.seed, '--seed')
const pages = whole(options.pages, '--pages', companies)
const calculatorsEach = 7
const valuesEach = 18

const names = {
  1: 'the limit: COPY of the same rows',
  2: 'Nightferry, first load',
  3: 'Nightferry, nothing changed',
  4: 'Nightferry, 1 % of the companies changed',
  5: 'JSON.parse and INSERT … ON CONFLICT',
  6: 'Nightferry with stream-json, no splitter',
  8: 'COPY of the same rows, half of them on each of two connections',
  9: `Nightferry, the same companies on ${pages} pages`,
} as const
type Line = keyof typeof names

const measured: Partial<Record<Line, Measured>>[] = []

await using opened = new Opened()
const world = await openPullWorld(opened)
const { rows: version } = await world.db.query<{ server_version: string }>('show server_version')
print(
  `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
    `PostgreSQL ${version[0]?.server_version}, Node ${process.version}; load ${loadavg()[0]?.toFixed(1)} at the start`,
)

const calculators = companies * calculatorsEach
const values = calculators * valuesEach
if ([1, 2, 3, 4, 5, 6, 8, 9].some((line) => lines.has(line)) || options.download) {
  const page = await world.store({ seed, companies, calculatorsEach, valuesEach })
  const changedPage = await world.store({ seed, companies, calculatorsEach, valuesEach, changed: 0.01 })
  print(
    `${megabytes(page.bytes)}: ${grouped(companies)} companies, ${grouped(calculators)} calculators, ${grouped(values)} values`,
  )

  const parts: StoredPage[] = []
  for (let at = 0; lines.has(9) && at < pages; at++) {
    const [before, after] = [at, at + 1].map((end) => Math.floor((companies * end) / pages))
    const part = { before: before ?? 0, companies: (after ?? 0) - (before ?? 0) }
    parts.push(await world.store({ seed, ...part, calculatorsEach, valuesEach }))
  }

  // Not counted: it makes the rows of the limit.
  await world.empty()
  await world.load('nightferry', page)
  await world.keepRows()
  await checkRows()

  const groups: ((round: Partial<Record<Line, Measured>>) => Promise<void>)[] = [
    async (round) => {
      if (!lines.has(1)) return
      await world.empty()
      round[1] = await say(1, world.load('limit', page))
      await checkRows()
    },
    async (round) => {
      if (![2, 3, 4].some((line) => lines.has(line))) return
      await world.empty()
      round[2] = await say(2, world.load('nightferry', page, { endsSearch: true }))
      await checkRows()
      await world.rest()
      if (lines.has(3)) round[3] = await say(3, world.load('nightferry', page, { endsSearch: true }))
      if (lines.has(3)) await world.rest()
      if (lines.has(4)) round[4] = await say(4, world.load('nightferry', changedPage, { endsSearch: true }))
      await checkRows()
    },
    async (round) => {
      if (!lines.has(5)) return
      await world.empty()
      round[5] = await say(5, world.load('people', page))
      await checkRows({ value: 'people.value', calculator: 'people.calculator', company: 'people.company' })
    },
    async (round) => {
      if (!lines.has(6)) return
      await world.empty()
      round[6] = await say(6, world.load('tokens', page))
      await checkRows()
    },
    async (round) => {
      if (!lines.has(8)) return
      await world.empty()
      round[8] = await say(8, world.load('limitOnTwo', page))
      await checkRows()
    },
    async (round) => {
      if (!lines.has(9)) return
      await world.empty()
      round[9] = await say(9, world.load('nightferry', parts, { endsSearch: true }))
      await checkRows()
    },
  ]
  for (let round = 0; round < rounds; round++) {
    const loads: Partial<Record<Line, Measured>> = {}
    for (let at = 0; at < groups.length; at++) await groups[(round + at) % groups.length]?.(loads)
    measured.push(loads)
  }
  printLoads(page.bytes)
  if (options.download) await printDownloads(page)
}
if (lines.has(7)) await printPeaks()

/** Every way must have stored all of the page, or its time is the time of something else. */
async function checkRows(
  { value, calculator, company } = { value: 'calculator_value', calculator: 'calculator', company: 'company' },
): Promise<void> {
  const { rows } = await world.db.query<Record<'values' | 'calculators' | 'companies', string>>(
    `select (select count(*) from ${value}) as values, (select count(*) from ${calculator}) as calculators,
            (select count(*) from ${company}) as companies`,
  )
  const found = [rows[0]?.companies, rows[0]?.calculators, rows[0]?.values].map(Number)
  const expected = [companies, calculators, values]
  if (found.join() !== expected.join()) {
    throw new Error(`the tables hold ${found.join(', ')} rows, not ${expected.join(', ')}`)
  }
}

async function say(line: Line, work: Promise<Measured>): Promise<Measured> {
  const done = await work
  process.stderr.write(
    `${line}. ${names[line]}: ${done.seconds.toFixed(2)} s${done.care === null ? '' : `, with care: ${done.care}`}\n`,
  )
  return done
}

function printLoads(bytes: number): void {
  const table = (Object.keys(names).map(Number) as Line[]).flatMap((line) => {
    const of = (what: (load: Measured) => number) => measured.flatMap(({ [line]: load }) => (load ? [what(load)] : []))
    const seconds = of((load) => load.seconds)
    if (seconds.length === 0) return []
    return [
      [
        `${line}. ${names[line]}`,
        `${spread(seconds, 2)} s`,
        spread(ratios(line, 1), 2),
        spread(ratios(line, 1, processor), 2),
        line === 1 ? '' : spread(ratios(line, 2), 2),
        `${grouped(bytes / 1e6 / median(seconds))}`,
        grouped(values / median(seconds)),
        `${median(of((load) => load.processor)).toFixed(1)} s`,
        `${median(of((load) => load.server)).toFixed(1)} s`,
        line === 1 ? '' : `${median(of((load) => load.sandbox)).toFixed(1)} s`,
        megabytes(Math.max(...of((load) => load.peak))),
      ],
    ]
  })
  const head = [
    '',
    'time',
    '× line 1',
    'processor × line 1',
    '× line 2',
    'MB/s',
    'values/s',
    'own processor',
    'its backends',
    'the sandbox',
    'peak RSS',
  ]
  print(`\nMedian (least–most) of ${rounds}, load ${loadavg()[0]?.toFixed(1)} at the end:\n`)
  print(tableOf(head, table, options.markdown))
  for (const [line, what] of [
    [5, 'The first load is'],
    [3, 'Nothing changed:'],
    [4, '1 % changed:'],
  ] as const) {
    const times = line === 5 ? ratios(5, 2) : ratios(2, line)
    if (times.length > 0)
      print(`${what} ${spread(times, 1)} times as fast as ${line === 5 ? 'line 5' : 'the first load'}.`)
  }
  const several = measured.flatMap(({ 1: one, 8: two, 9: loads }) =>
    one && two && loads ? [loads.seconds / Math.min(one.seconds, two.seconds)] : [],
  )
  if (several.length > 0) print(`${pages} pages: ${spread(several, 2)} times the faster of lines 1 and 8.`)
  for (const line of [2, 3, 4, 9] as const) {
    const last = measured.at(-1)?.[line]
    if (last === undefined) continue
    const writes = Object.entries(last.writes)
      .map(
        ([name, { inserted, updated, deleted }]) =>
          `${name} +${grouped(inserted)} ~${grouped(updated)} −${grouped(deleted)}`,
      )
      .join(', ')
    print(
      `Line ${line}, rows inserted (+), updated (~), deleted (−): ${writes}. Ending the search took ${last.endSeconds?.toFixed(2)} s.`,
    )
  }
}

/** How many times as much as the other line, round by round. */
function ratios(line: Line, other: Line, of = (load: Measured) => load.seconds): number[] {
  return measured.flatMap(({ [line]: load, [other]: base }) => (load && base ? [of(load) / of(base)] : []))
}

/** What loads and what stores, together: on a busy machine it says more than the clock. */
function processor(load: Measured): number {
  return load.processor + load.server
}

/** What the way from the sandbox alone costs. */
async function printDownloads(page: { token: string; bytes: number }): Promise<void> {
  const ways = { identity: 'as it is', gzip: 'gzipped, left so', download: "Nightferry's download, unpacked" } as const
  const all: Record<string, Measured[]> = {}
  for (let round = 0; round < rounds; round++) {
    for (const way of Object.keys(ways) as (keyof typeof ways)[]) {
      all[way] = [...(all[way] ?? []), await world.load(way, page)]
    }
  }
  const table = Object.entries(all).map(([way, loads]) => [
    ways[way as keyof typeof ways],
    `${spread(
      loads.map(({ seconds }) => seconds),
      2,
    )} s`,
    grouped(page.bytes / 1e6 / median(loads.map(({ seconds }) => seconds))),
    megabytes(loads[0]?.bytes ?? 0),
    `${median(loads.map(({ processor }) => processor)).toFixed(2)} s`,
    `${median(loads.map(({ sandbox }) => sandbox)).toFixed(2)} s`,
  ])
  print(
    `\n${tableOf(['downloading alone', 'time', 'MB/s of the page', 'bytes', 'own processor', 'the sandbox'], table, options.markdown)}`,
  )
}

/** Line 7. */
async function printPeaks(): Promise<void> {
  const folder = await opened.folder('built')
  const scripts = { 'from the sources': undefined, built: await buildLoadProcess(folder, opened.signal) }
  const table: string[][] = []
  for (const size of sizes) {
    const page = await world.store({ seed, companies: size, calculatorsEach, valuesEach })
    const line = [megabytes(page.bytes)]
    for (const script of Object.values(scripts)) {
      await world.empty()
      const { peak, seconds } = await world.load('nightferry', page, { script })
      line.push(megabytes(peak), `${seconds.toFixed(1)} s`)
    }
    process.stderr.write(`7. ${line.join(', ')}\n`)
    table.push(line)
  }
  const head = ['7. first load of a page of', ...Object.keys(scripts).flatMap((how) => [`peak RSS ${how}`, 'time'])]
  print(`\n${tableOf(head, table, options.markdown)}`)
}

function whole(text: string, option: string, most = 10_000_000): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1 || number > most) {
    throw new RangeError(`${option} takes whole numbers from 1 to ${most}, not "${text}"`)
  }
  return number
}

function print(text: string): void {
  process.stdout.write(`${text.trimEnd()}\n`)
}
