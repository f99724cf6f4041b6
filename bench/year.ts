/**
 * Whether the hundredth night costs what the thirtieth did: node bench/year.ts [--nights 365] [--hotels 20]
 * [--minutes 50] [--json FILE]
 *
 * One `nightferry serve` and night after night of a small group, with changes every day, housekeeping every noon, and
 * each of twenty kinds of trouble at the service one time in a hundred. The clock leaps from noon to the next night.
 * Brings its servers and removes them; needs libfaketime. Stops by itself after `--minutes`, or at a
 * signal when the night is over, and says how far it came.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { forgetPeak } from './memory.ts'
import { Opened } from './opened.ts'
import { figuresOf, type NightFigures, runJob, spendDay, tableBytes, usedBy } from './year-night.ts'
import { type LeftOver, printYear, windowNights } from './year-report.ts'
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
const dayMs = 86_400_000

/**
 * Each is kept as short as it may be, or a week, so that what is removed keeps pace with what comes from night 30 on.
 */
const settings = [
  'http.port=0',
  'pull.history=true',
  'pull.keepHistoryDays=7',
  'pull.keepRemovedDays=7',
  'push.keepPayloadsDays=7',
  'housekeeping.keepRunsDays=30',
  'housekeeping.keepReportsDays=30',
  'housekeeping.keepContentsDays=7',
  'housekeeping.keepQuarantineDays=7',
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

const began = performance.now()
const figures: NightFigures[] = []
let tablesAtNight = new Map<string, number>()
await using opened = new Opened({ bySignal: false })
const world = await openYearWorld(opened, hotels, settings)
await prepare(world)
const stopAt = performance.now() + minutes * 60_000
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupted = true
  })
}
for (let night = 1; night <= nights && !interrupted && performance.now() < stopAt; night++) {
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
const left = await world.own.query<LeftOver>(
  `select stream, invalid_reason is not null as invalid, outcome_code as code, count(*) as rows from ledger
   where gone_at is null and accepted_hash is distinct from desired_hash group by 1, 2, 3 order by 1, 2, 3`,
)
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(figures))
const grew = [...tablesNow].map(([name, bytes]) => ({ name, bytes, grown: bytes - (tablesAtNight.get(name) ?? 0) }))
if (!printYear(hotels, figures, settledAfter, grew, left.rows)) process.exitCode = 1

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
