import type { Copied } from './night-copies.ts'
import { type NightName, type NightSpent, nightNames } from './night-run.ts'
import { grouped, median, megabytes, spread, tableOf } from './pull-table.ts'

export type Round = { hotels: number; nights: NightSpent[]; copies: Copied[] }
export type Machine = { cores: number; memory: number; load: number; node: string; capture: string }

/** Prints what was measured, per number of hotels: medians of the rounds, with the least and the most. */
export function printNights(machine: Machine, rounds: readonly Round[]): void {
  say(
    `${machine.cores} cores, ${Math.round(machine.memory / 2 ** 30)} GiB, a load of ${machine.load.toFixed(1)} at the end, ` +
      `Node ${machine.node}; capture by ${machine.capture}. Seconds; the median of the rounds (least–most). Queued: others had the processors.`,
  )
  const sizes = [...new Set(rounds.map(({ hotels }) => hotels))]
  for (const hotels of sizes) {
    const own = rounds.filter((round) => round.hotels === hotels)
    heading(`${grouped(hotels)} hotels`)
    printTotals(own)
    printCopies(own)
    for (const name of nightNames) {
      const nights = own.flatMap((round) => round.nights.filter(({ night }) => night === name))
      heading(`${grouped(hotels)} hotels, ${name} night: steps`)
      printSteps(nights)
      heading(`${grouped(hotels)} hotels, ${name} night: the longest chain`)
      printPath(nights)
      heading(`${grouped(hotels)} hotels, ${name} night: statements of the last round by total time`)
      printStatements(nights.at(-1))
    }
  }
}

function printTotals(rounds: readonly Round[]): void {
  const lines = nightNames.map((name: NightName) => {
    const nights = rounds.flatMap((round) => round.nights.filter(({ night }) => night === name))
    const over = (of: (night: NightSpent) => number, places = 1) => spread(nights.map(of), places)
    return [
      `${name} night`,
      over(({ seconds }) => seconds),
      over(({ own }) => own),
      over(({ used }) => used.ours),
      over(({ used }) => used.database),
      over(({ used }) => used.partner),
      over(({ used }) => used.service),
      over(({ others }) => others),
      over(({ path }) => path.critical),
      over(({ path }) => (path.makespan - path.queued) / path.critical, 2),
      over(({ path }) => path.waited, 2),
      over(({ path }) => path.waitedFree, 2),
      over(({ path }) => path.queued),
      megabytes(Math.max(...nights.map(({ peaks }) => peaks.ours))),
      megabytes(Math.max(...nights.map(({ peaks }) => peaks.database))),
      megabytes(Math.max(...nights.map(({ peaks }) => peaks.service))),
    ]
  })
  const head = ['', 'wall', 'without the service', 'our processor', 'our Postgres', "partner's Postgres", 'service']
  const path = ['others', 'critical path', 'makespan / it', 'waited', 'of it with processors free', 'queued']
  print([...head, ...path, 'our peak', 'largest backend', 'sandbox peak'], lines)
}

function printCopies(rounds: readonly Round[]): void {
  const names = rounds[0]?.copies.map(({ what }) => what) ?? []
  const of = (what: string) => rounds.flatMap(({ copies }) => copies.filter((copied) => copied.what === what))
  const step = (round: Round, name: string) =>
    round.nights[0]?.steps.find((candidate) => candidate.name === name)?.seconds ?? Number.NaN
  const beside: Record<string, { name: string; of: (round: Round) => number }> = {
    'into the ledger': { name: 'first extraction', of: (round) => step(round, 'extract') },
    'values in': { name: 'pull of the first night', of: (round) => step(round, 'pull') },
  }
  const lines = names.map((what) => {
    const copied = of(what)
    const compared = beside[what]
    const ratios = rounds.map((round) => {
      const copy = round.copies.find((candidate) => candidate.what === what)?.seconds ?? Number.NaN
      return compared === undefined ? Number.NaN : compared.of(round) / copy
    })
    return [
      `bare copy: ${what}`,
      spread(
        copied.map(({ seconds }) => seconds),
        2,
      ),
      grouped(copied[0]?.rows ?? 0),
      grouped(median(copied.map(({ rows, seconds }) => rows / seconds))),
      megabytes(copied[0]?.bytes ?? 0),
      compared === undefined ? '' : `${compared.name}: ${spread(ratios, 2)} ×`,
    ]
  })
  const sum = rounds.map(({ copies }) => copies.reduce((total, { seconds }) => total + seconds, 0))
  const own = rounds.map(({ nights }) => nights[0]?.own ?? Number.NaN)
  const less = rounds.map(({ nights }) => (nights[0]?.seconds ?? Number.NaN) - (nights[0]?.used.service ?? Number.NaN))
  const timesSum = (of: number[]) =>
    spread(
      of.map((seconds, index) => seconds / (sum[index] ?? Number.NaN)),
      2,
    )
  lines.push(['all bare copies', spread(sum, 2), '', '', '', `first night without the service: ${timesSum(own)} ×`])
  lines.push(['', '', '', '', '', `first night less the service's processor time: ${timesSum(less)} ×`])
  say('')
  print(['', 'wall', 'rows', 'rows/s', 'size', 'beside it'], lines)
  const ledger = rounds[0]?.nights[0]?.ledger
  if (ledger !== undefined) {
    say(
      `\nLedger after the first night: ${grouped(ledger.rows)} rows, ${megabytes(ledger.bytes)}, ${grouped(ledger.bytes / ledger.rows)} bytes a row`,
    )
  }
}

function printSteps(nights: readonly NightSpent[]): void {
  const lines = (nights[0]?.steps ?? []).map(({ name, rows }) => {
    const steps = nights.flatMap((night) => night.steps.filter((step) => step.name === name))
    const over = (of: (step: (typeof steps)[number]) => number) => spread(steps.map(of), 1)
    const perSecond = median(steps.map((step) => (step.rows ?? 0) / step.seconds))
    return [
      name,
      over(({ seconds }) => seconds),
      over(({ used }) => used.ours),
      over(({ used }) => used.database),
      over(({ used }) => used.partner),
      over(({ used }) => used.service),
      over(({ service }) => service),
      over(({ queued }) => queued),
      over(({ idle }) => idle),
      rows === null ? '' : grouped(rows),
      rows === null ? '' : grouped(perSecond),
    ]
  })
  const head = [
    '',
    'wall',
    'our processor',
    'our Postgres',
    "partner's Postgres",
    'service',
    'only the service',
    'queued',
    'idle',
  ]
  print([...head, 'rows', 'rows/s'], lines)
}

function printPath(nights: readonly NightSpent[]): void {
  const names = [...new Set(nights.flatMap(({ path }) => path.sums.map(({ what }) => what)))]
  const lines = names.map((what) => {
    const sums = nights.flatMap(({ path }) => path.sums.filter((sum) => sum.what === what))
    const over = (of: (sum: (typeof sums)[number]) => number) => spread(sums.map(of), 2)
    return [
      what,
      String(Math.round(median(sums.map(({ links }) => links)))),
      over(({ seconds }) => seconds),
      over(({ busy }) => busy),
      over(({ service }) => service),
      over(({ queued }) => queued),
      over(({ idle }) => idle),
      over(({ free }) => free),
      over(({ waited }) => waited),
    ]
  })
  print(['', 'links', 'seconds', 'we work', 'only the service', 'queued', 'idle', 'processors free', 'waited'], lines)
}

/** Characters of a statement that are shown. */
const textShown = 150

function printStatements(night: NightSpent | undefined): void {
  const lines = (night?.statements ?? []).map(({ seconds, calls, rows, text }) => [
    seconds.toFixed(2),
    grouped(calls),
    grouped(rows),
    `  ${text.slice(0, textShown)}`,
  ])
  for (const [seconds = '', calls = '', rows = '', text = ''] of [
    ['seconds', 'calls', 'rows', '  statement'],
    ...lines,
  ]) {
    say(`${seconds.padStart(8)}${calls.padStart(9)}${rows.padStart(11)}${text}`)
  }
}

function print(head: readonly string[], lines: readonly (readonly string[])[]): void {
  process.stdout.write(tableOf(head, lines, false))
}

function heading(text: string): void {
  say(`\n── ${text}\n`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
