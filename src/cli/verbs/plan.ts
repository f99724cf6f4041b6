import { night } from '../../config/known-names.ts'
import { requireSettings } from '../../config/require-settings.ts'
import { counted } from '../../counted.ts'
import type { ListedRow } from '../../db/ledger/rows-in-state.ts'
import { type PlannedWave, planRun, type RunPlan } from '../../pipeline/plan/plan-run.ts'
import type { PlannedRequest } from '../../pipeline/plan/planned-requests.ts'
import { needsGroup } from '../../pipeline/streams/our-streams.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { openStages, quietConfig } from '../open-ferry.ts'
import { readConfig, readContract } from '../read-config.ts'
import { moment, readable, shortened } from '../show/readable.ts'
import {
  contentDifference,
  type Difference,
  differenceWords,
  policyWords,
  renderHeld,
  rowWords,
} from '../show/row-words.ts'
import { table } from '../show/table.ts'

export type PlanVerbOptions = CommonOptions & {
  cached?: boolean
  /** True where no number is given. */
  bodies?: number | true
  diff?: boolean
  limit: number
}

/**
 * `nightferry plan`: what a run would send now, and why. Sends nothing, and leaves nothing behind: it works on
 * temporary copies of the ledger, also while a run is under way.
 */
export async function plan(cli: Cli, options: PlanVerbOptions): Promise<ExitCode> {
  const config = quietConfig(readConfig(cli, options))
  requireSettings(config, needsGroup(readContract(cli, config), config.streams))
  const opened = await openStages(cli, config)
  try {
    const { rows, more, ...planned } = await planRun(opened.deps, {
      job: night,
      cached: options.cached === true,
      bodies: options.bodies === true ? 1 : (options.bodies ?? 0),
      rows: options.limit,
    })
    const differences = rows.map(({ stream, partner_id, row_key, why, from, to }) => ({
      stream,
      partner_id,
      row_key,
      words: rowWords(stream, to),
      why,
      new: from === null,
      differences: from === null ? [] : contentDifference(from, to),
    }))
    const { rows: moreRows, ...moreListed } = more
    const cut = { ...(options.diff && { differences: moreRows }), ...moreListed }
    if (options.json) {
      printJson(cli.stdout, { ...planned, ...(options.diff && { differences }), more: cut })
      tellCut(cli, cut, options.limit)
    } else cli.stdout.write(renderPlan({ ...planned, more }, options.diff ? differences : null, options.limit))
    return exitCodes.well
  } finally {
    await opened.close()
  }
}

/** Beside JSON, which a program reads: a person who calls it is told as by other verbs whose lists were cut. */
function tellCut(cli: Cli, cut: Record<string, boolean>, limit: number): void {
  const names = Object.keys(cut).filter((name) => cut[name])
  if (names.length > 0) printLine(cli.stderr, `The first ${limit} of ${names.join(', ')}; --limit shows more.`)
}

type RowDifference = {
  stream: string
  partner_id: string
  row_key: string
  words: string
  /** Why it would be sent. */
  why: string
  /** Nothing of it is accepted, as far as is known. */
  new: boolean
  differences: Difference[]
}

/** Characters of a body that are shown; the JSON has all of it. */
const shownOfBody = 4_000

/** What a run would do, as a person reads it before it does. */
function renderPlan(plan: Omit<RunPlan, 'rows'>, differences: readonly RowDifference[] | null, limit: number): string {
  const parts = [
    head(plan),
    read(plan),
    guarded(plan),
    sent(plan),
    differences === null ? '' : changes(differences, plan.more.rows, limit),
    unsent(plan),
    listed('Invalid, and not sent', plan.invalid, plan.more.invalid, limit),
    listed('Parked, whatever is accepted now', plan.parked, plan.more.parked, limit),
    listed('Rejected before and unchanged since, and not sent again now', plan.rejected, plan.more.rejected, limit),
    ...plan.bodies.map(({ kind, body }) => bodyOf(kind, body)),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function head({ planned_at, running, reference, remarks }: Omit<RunPlan, 'rows'>): string {
  const lines = [`What a run would do, as of ${moment(planned_at)} UTC. Nothing was sent, and nothing is kept of this.`]
  if (running !== null) {
    lines.push(`Run ${running.run_id} is under way at the step ${running.step}: what it holds is left to it.`)
  }
  const why = reference.why_not_fetched === null ? '' : `, for the service did not answer: ${reference.why_not_fetched}`
  if (reference.source === 'fetched') lines.push('Reference data: fetched from the service just now.')
  else if (reference.source === 'none') lines.push(`Reference data: there are none${why}. Little can be judged.`)
  else lines.push(`Reference data: as a run fetched them, the oldest at ${moment(reference.fetched_at)} UTC${why}.`)
  return [...lines, ...remarks].map(readable).join('\n')
}

function read({ streams }: Omit<RunPlan, 'rows'>): string {
  return `What the partner's database brings (rows)\n${table(
    ['stream', 'read', 'folded', 'unchanged', 'changed', 'gone', 'without cursor', 'pending'],
    streams.map((s) => [s.stream, s.read, s.folded, s.unchanged, s.changed, s.gone, s.null_cursor, s.pending]),
  )}`
}

function guarded({ held }: Omit<RunPlan, 'rows'>): string {
  if (held.length === 0) return ''
  return `The guard would stop the run, which then sends nothing and asks for approval.\n${renderHeld(held)}`
}

function sent({ waves }: Omit<RunPlan, 'rows'>): string {
  if (waves.length === 0) return 'Nothing would be sent.'
  const rows = waves.flatMap((wave) => perKind(wave))
  return [
    'What would be sent; a wave goes out as what it waits for is accepted',
    table(['wave', 'kind', 'requests', 'rows', 'stream', 'of these', 'why'], rows),
  ].join('\n')
}

/** One line per kind, stream and reason; the kind is told once. */
function perKind({ wave, requests }: PlannedWave): (string | number | null)[][] {
  const kinds = [...new Set(requests.map(({ kind }) => kind))]
  return kinds.flatMap((kind) => {
    const own = requests.filter((request) => request.kind === kind)
    const carried = own.reduce((sum, { rows }) => sum + rows, 0)
    return reasons(own).map(({ stream, why, rows }, index) =>
      index === 0 ? [wave, kind, own.length, carried, stream, rows, why] : ['', '', '', '', stream, rows, why],
    )
  })
}

function reasons(requests: readonly PlannedRequest[]): { stream: string; why: string; rows: number }[] {
  const sums = new Map<string, { stream: string; why: string; rows: number }>()
  for (const { stream, why, rows } of requests.flatMap(({ streams }) => streams)) {
    const key = `${stream} ${why}`
    sums.set(key, { stream, why, rows: rows + (sums.get(key)?.rows ?? 0) })
  }
  return [...sums.values()]
}

function changes(differences: readonly RowDifference[], isCut: boolean, limit: number): string {
  if (differences.length === 0) return ''
  const lines = differences.map(({ partner_id, stream, words, why, new: isNew, differences: values }) => {
    const row = `  ${partner_id}  ${stream}  `
    if (isNew) return readable(`${row}${why}: `) + shortened(words, 100)
    const what = stream === 'properties' || stream === 'calculator_settings' ? '' : `${shortened(words, 60)}  `
    const said = values.length === 0 ? 'as it was accepted' : values.map(differenceWords).join(', ')
    return readable(why === 'changed' ? row : `${row}${why}: `) + what + readable(said)
  })
  const more = isCut ? [`  … the first ${limit}; --limit shows more`] : []
  return ['What differs from what the service has accepted', ...lines, ...more].join('\n')
}

function unsent({ unsent: states }: Omit<RunPlan, 'rows'>): string {
  if (states.length === 0) return 'Every row is accepted, or would be sent.'
  return `What would not be sent (rows)\n${table(
    ['stream', 'state', 'rows'],
    states.map(({ stream, state, rows }) => [stream, state === 'in_flight' ? 'on the way already' : state, rows]),
  )}`
}

function listed(title: string, rows: readonly ListedRow[], isCut: boolean, limit: number): string {
  if (rows.length === 0) return ''
  const lines = rows.map((row) => {
    const policy = policyWords(row)
    const said = row.code === null || row.code.startsWith('requires_') ? row.reason : `${row.code}: ${row.reason}`
    return `  ${readable(row.partner_id)}  ${row.stream}  ${shortened(rowWords(row.stream, row.content), 70)}: ${readable(said)}${policy === null ? '' : `; ${policy}`}`
  })
  const more = isCut ? [`  … the newest ${limit}; --limit shows more`] : []
  return [title, ...lines, ...more].join('\n')
}

function bodyOf(kind: string, body: string): string {
  const size = `${counted(Buffer.byteLength(body), 'byte')}`
  const cut = body.length > shownOfBody ? `, of which these are the first; --json prints all` : ''
  return `A body of ${kind}, ${size}${cut}\n${shortened(body, shownOfBody)}`
}
