import { cpus, loadavg } from 'node:os'
import { grouped, median, tableOf } from './pull-table.ts'
import { trendOf } from './slope.ts'
import type { NightFigures } from './year-night.ts'

/** Rows that the service does not have in the end, by stream and reason. */
export type LeftOver = { stream: string; rows: string; invalid: boolean; code: string | null }
export type Grown = { name: string; bytes: number; grown: number }

/** Nights of one line of the table. */
export const windowNights = 30

/** Tables that are listed. */
const tablesShown = 12

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

/** Prints what was measured. @returns whether everything is flat that has to be; true while nobody can tell. */
export function printYear(
  hotels: number,
  figures: readonly NightFigures[],
  settledAfter: number,
  tables: readonly Grown[],
  left: readonly LeftOver[],
): boolean {
  const machine = `${cpus().length} processors, load ${loadavg()[0]?.toFixed(1)}`
  say(`${hotels} hotels, ${figures.length} nights, ${machine}; medians, and sums of what was repeated\n`)
  printWindows(figures)
  say('\nRows that the service does not have after two quiet nights:')
  for (const { stream, rows, invalid, code } of left)
    say(`  ${stream}: ${rows} ${invalid ? 'invalid' : (code ?? 'pending')}`)
  if (left.length === 0) say('  none')
  const later = figures.slice(settledAfter)
  if (later.length < 2) {
    say(`\nNo verdict: it needs more than ${settledAfter + 1} nights.`)
    return true
  }
  say(`\nTables that grew most since night ${settledAfter}, in kB:`)
  for (const { name, bytes, grown } of tables.toSorted((a, b) => b.grown - a.grown).slice(0, tablesShown))
    say(`  ${name}: ${grouped(grown / 1000)} of ${grouped(bytes / 1000)}`)
  say(`\nFrom night ${settledAfter + 1} on:`)
  return flat.map((figure) => judge(figure, later)).every(Boolean)
}

function judge({ name, what, limit }: (typeof flat)[number], nights: readonly NightFigures[]): boolean {
  const { perHundred } = trendOf(nights.map((one) => Number(one[name])))
  const isFlat = perHundred <= limit
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`
  say(`  ${isFlat ? 'flat ' : 'GROWS'}  ${what}: ${percent(perHundred)} in 100 nights (limit ${percent(limit)})`)
  return isFlat
}

function printWindows(figures: readonly NightFigures[]): void {
  const windows = Array.from({ length: Math.ceil(figures.length / windowNights) }, (_, at) =>
    figures.slice(at * windowNights, (at + 1) * windowNights),
  )
  const lines = windows.map((nights) => {
    const middle = (name: keyof NightFigures) => median(nights.map((one) => Number(one[name])))
    const sum = (name: keyof NightFigures) => nights.reduce((total, one) => total + Number(one[name]), 0)
    const mb = (bytes: number) => (bytes / 1e6).toFixed(1)
    return [
      `${nights[0]?.night}–${nights.at(-1)?.night}`,
      mb(middle('memory')),
      mb(Math.max(...nights.map(({ peak }) => peak))),
      String(middle('connections')),
      mb(middle('databaseBytes')),
      grouped(middle('files')),
      middle('seconds').toFixed(2),
      middle('daemonProcessor').toFixed(2),
      middle('serverProcessor').toFixed(2),
      grouped(middle('queueRows')),
      grouped(middle('submissions')),
      `${sum('repeats')} / ${sum('resent')} / ${sum('requests')}`,
      String(nights.filter(({ verdict }) => verdict === 'failed').length),
    ]
  })
  const head = ['nights', 'MB', 'peak MB', 'connections', 'database MB', 'files', 's', 'daemon s', 'server s']
  const more = ['queue rows', 'submissions', 'repeated / again / requests', 'failed']
  process.stdout.write(tableOf([...head, ...more], lines, true))
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
