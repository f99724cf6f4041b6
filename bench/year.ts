/**
 * Whether the hundredth night costs what the thirtieth did: node bench/year.ts [--nights 365] [--hotels 20]
 * [--minutes 50] [--json FILE]
 *
 * One `nightferry serve` and night after night of a small group, with changes every day, housekeeping every noon, and
 * each of twenty kinds of trouble at the service one time in a hundred. The clock leaps from noon to the next night.
 * Brings its servers and removes them; needs libfaketime. Stops by itself after `--minutes`, and says how far it came.
 */
import { writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { forgetPeak } from './memory.ts'
import { grouped, median, tableOf } from './pull-table.ts'
import { trendOf } from './slope.ts'
import { figuresOf, type NightFigures, runJob, spendDay, tableBytes, usedBy } from './year-night.ts'
import { openYearWorld, type YearWorld } from './year-world.ts'

const { values } = parseArgs({
  options: {
    nights: { type: 'string', default: '365' },
    hotels: { type: 'string', default: '20' },
    minutes: { type: 'string', default: '50' },
    json: { type: 'string' },
  },
})
const [nights, hotels, minutes] = [Number(values.nights), Number(values.hotels), Number(values.minutes)]

/** From the night after this one on, everything is to be flat: runs are kept for as long, the shortest there is. */
const settledAfter = 30
const windowNights = 30
const dayMs = 86_400_000

/** Each is kept as short as it may be, or a week, so that what is removed keeps pace with what comes from night 30 on. */
const settings = [
  'http.port=0',
  'pull.history=true',
  'pull.keepHistoryDays=7',
  'pull.keepRemovedDays=7',
  'push.keepPayloadsDays=7',
  'housekeeping.keepRunsDays=30',
  'housekeeping.keepReportsDays=30',
  'housekeeping.keepContentsDays=7',
  'housekeeping.keepNotificationsDays=7',
  'housekeeping.keepQueueDays=1',
  'housekeeping.keepRequestsDays=7',
  'webhooks.keepDays=31',
]

const trouble = [
  ...['reset-before', 'lost-answer', 'late-server-errors', 'garbage-answer', 'html-answer', 'rate-limited:seconds'],
  ...['server-errors', 'cut-answer', 'tasks-cancelled', 'error-without-body', 'errors-without-rows', 'tasks-forgotten'],
  ...['statuses-repeated', 'success-without-pages', 'pages-missing', 'pages-cut', 'malformed-pages', 'webhooks-lost'],
  ...['webhooks-doubled', 'webhooks-reordered'],
]

/** What has to be flat, and how much it may change over a hundred nights, as a share of its level. */
const flat: { name: keyof NightFigures; what: string; limit: number }[] = [
  { name: 'memory', what: "the daemon's memory", limit: 0.1 },
  { name: 'connections', what: 'connections to our database', limit: 0.02 },
  { name: 'descriptors', what: 'open files and sockets', limit: 0.02 },
  { name: 'databaseBytes', what: 'bytes of our database', limit: 0.05 },
  { name: 'files', what: 'files under the data folder', limit: 0.02 },
  { name: 'queueRows', what: 'rows of the queue', limit: 0.1 },
  { name: 'seconds', what: 'seconds of a night', limit: 0.1 },
  { name: 'daemonProcessor', what: 'processor seconds of the daemon', limit: 0.1 },
  { name: 'serverProcessor', what: 'processor seconds of our server', limit: 0.1 },
]

const began = performance.now()
const figures: NightFigures[] = []
let tablesAtNight = new Map<string, number>()
await using world = await openYearWorld(hotels, settings)
await prepare(world)
const stopAt = performance.now() + minutes * 60_000
for (let night = 1; night <= nights && performance.now() < stopAt; night++) {
  figures.push(await nightAndDay(world, night))
  if (night === settledAfter) tablesAtNight = await tableBytes(world)
  if (night % windowNights === 0) {
    process.stderr.write(`${night} nights after ${Math.round((performance.now() - began) / 60_000)} min\n`)
    forgetPeak(world.daemon.pid)
    if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(figures))
  }
}
const tablesNow = await tableBytes(world)
// All trouble ends, and the service has to hold what the partner wants.
await world.administer('PUT', '/chaos', { profiles: {} })
for (const quiet of [1, 2]) await nightAndDay(world, figures.length + quiet)
const left = await world.own.query<{ stream: string; rows: string; invalid: boolean; code: string | null }>(
  `select stream, invalid_reason is not null as invalid, outcome_code as code, count(*) as rows from ledger
   where gone_at is null and accepted_hash is distinct from desired_hash group by 1, 2, 3 order by 1, 2, 3`,
)
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(figures))
print()

async function prepare({ administer, clock, partner }: YearWorld): Promise<void> {
  await administer('PUT', '/chaos', { profiles: Object.fromEntries(trouble.map((name) => [name, 0.01])) })
  await partner.query('create table hotelier.taken_back (like hotelier.sustainability_answer)')
  const tomorrow = new Date(clock.now().getTime() + dayMs)
  tomorrow.setUTCHours(2, 30, 0, 0)
  clock.leapTo(tomorrow)
}

async function nightAndDay(place: YearWorld, night: number): Promise<NightFigures> {
  const { clock, administer } = place
  const tonight = clock.now()
  // What waits by the service's clock looks at it again.
  await administer('POST', '/clock/advance', { ms: 1 })
  const before = usedBy(place)
  const run = await runJob(place, 'nightly-sync')
  const noon = new Date(tonight)
  noon.setUTCHours(12, 0, 0, 0)
  clock.leapTo(noon)
  await runJob(place, 'housekeeping')
  const after = usedBy(place)
  await spendDay(place, night, hotels)
  const found = await figuresOf(place, run)
  const next = new Date(noon.getTime() + dayMs)
  next.setUTCHours(2, 30, 0, 0)
  clock.leapTo(next)
  const processor = { daemonProcessor: after.daemon - before.daemon, serverProcessor: after.server - before.server }
  return { night, ...found, ...processor }
}

function print(): void {
  const windows = Array.from({ length: Math.ceil(figures.length / windowNights) }, (_, at) =>
    figures.slice(at * windowNights, (at + 1) * windowNights),
  )
  const middle = (some: NightFigures[], name: keyof NightFigures) => median(some.map((one) => Number(one[name])))
  const sum = (some: NightFigures[], name: keyof NightFigures) =>
    some.reduce((total, one) => total + Number(one[name]), 0)
  const mb = (bytes: number) => (bytes / 1e6).toFixed(1)
  const lines = windows.map((some) => [
    `${some[0]?.night}–${some.at(-1)?.night}`,
    mb(middle(some, 'memory')),
    mb(Math.max(...some.map(({ peak }) => peak))),
    String(middle(some, 'connections')),
    mb(middle(some, 'databaseBytes')),
    grouped(middle(some, 'files')),
    middle(some, 'seconds').toFixed(2),
    middle(some, 'daemonProcessor').toFixed(2),
    middle(some, 'serverProcessor').toFixed(2),
    grouped(middle(some, 'queueRows')),
    grouped(middle(some, 'submissions')),
    `${sum(some, 'repeats')} / ${sum(some, 'resent')} / ${sum(some, 'requests')}`,
    String(some.filter(({ verdict }) => verdict === 'failed').length),
  ])
  const head = ['nights', 'MB', 'peak MB', 'connections', 'database MB', 'files', 's', 'daemon s', 'server s']
  const more = ['queue rows', 'submissions', 'repeated / again / requests', 'failed']
  say(`${hotels} hotels, ${figures.length} nights, ${cpus().length} processors, load ${loadavg()[0]?.toFixed(1)}; medians\n`)
  process.stdout.write(tableOf([...head, ...more], lines, true))
  const later = figures.slice(settledAfter)
  if (later.length < 2) return say(`\nNo verdict: it needs more than ${settledAfter + 1} nights.`)
  say(`\nFrom night ${settledAfter + 1} on:`)
  let grows = false
  for (const { name, what, limit } of flat) {
    const trend = trendOf(later.map((one) => Number(one[name])))
    const isFlat = trend.perHundred <= limit
    grows ||= !isFlat
    const percent = (share: number) => `${(100 * share).toFixed(1)} %`
    say(`  ${isFlat ? 'flat ' : 'GROWS'}  ${what}: ${percent(trend.perHundred)} in 100 nights (limit ${percent(limit)})`)
  }
  say('\nTables that grew most since night 30, in kB:')
  const growth = [...tablesNow]
    .map(([name, bytes]) => ({ name, bytes, more: bytes - (tablesAtNight.get(name) ?? 0) }))
    .toSorted((a, b) => b.more - a.more)
  for (const { name, bytes, more: grown } of growth.slice(0, 12)) say(`  ${name}: ${grouped(grown / 1000)} of ${grouped(bytes / 1000)}`)
  say('\nRows that the service does not have after two quiet nights:')
  for (const { stream, rows, invalid, code } of left.rows) say(`  ${stream}: ${rows} ${invalid ? 'invalid' : (code ?? 'pending')}`)
  if (left.rows.length === 0) say('  none')
  if (grows) process.exitCode = 1
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
