import { counted } from '../../counted.ts'
import type { Database } from '../../db/database.ts'
import { listSuspensions } from '../../db/ledger/suspended-hotels.ts'
import { beginPilot, endPilot, resumeHotels, suspendHotels } from '../../pipeline/actions/suspend-hotels.ts'
import { ActionRefused } from '../../pipeline/deps.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { moment, readable } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { actingUser, withDatabase } from '../with-database.ts'

export type HotelsOptions = CommonOptions & { limit: number }

/** `nightferry hotels`: the hotels of which nothing is sent, by whom, since when and why; and the pilot. */
export async function hotels(cli: Cli, options: HotelsOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }) => {
    const { pilot, suspended, next } = await listSuspensions(db, options.limit)
    if (options.json) {
      printJson(cli.stdout, { pilot, suspended, more: next !== null })
      return exitCodes.well
    }
    if (pilot !== null) for (const line of pilotLines(pilot)) printLine(cli.stdout, readable(line))
    if (suspended.length === 0) {
      printLine(cli.stdout, pilot === null ? 'No hotel is suspended.' : 'No hotel is suspended by its id.')
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      table(
        ['hotel', 'suspended since (UTC)', 'by', 'because', 'resumed (UTC)', 'by'],
        suspended.map((one) => [
          one.partner_id,
          moment(one.suspended_at),
          one.suspended_by,
          one.reason,
          one.resumed_at === null ? '' : `${moment(one.resumed_at)}, with the next run`,
          one.resumed_by ?? '',
        ]),
      ),
    )
    if (next !== null) printLine(cli.stdout, 'There are more; --limit shows them.')
    return exitCodes.well
  })
}

type Pilot = NonNullable<Awaited<ReturnType<typeof listSuspensions>>['pilot']>

function pilotLines({ reason, started_by, started_at, ended_by, ended_at, hotels: members, others }: Pilot): string[] {
  const since = `A pilot is on since ${moment(started_at)} UTC, by ${started_by}: ${reason}.`
  const end =
    ended_at === null ? [] : [`${ended_by} ended it at ${moment(ended_at)} UTC: the next run sends all others.`]
  const named = members.map((one) => `${one.partner_id}${one.from_next_run ? ' (from the next run on)' : ''}`)
  return [
    since,
    `${counted(members.length, 'hotel')} ${members.length === 1 ? 'goes' : 'go'}: ${named.join(', ')}.`,
    `${counted(others, 'other hotel')} ${others === 1 ? 'is' : 'are'} known and suspended, and so is every hotel that the partner adds.`,
    ...end,
  ]
}

export type NamedOptions = CommonOptions & { unknown?: boolean }
export type SuspendOptions = NamedOptions & { reason: string }

/** `nightferry hotels suspend <hotel>…`: nothing of them is planned any more until they are resumed. */
export async function suspend(cli: Cli, named: readonly string[], options: SuspendOptions): Promise<ExitCode> {
  return await act(cli, options, async (db) => {
    const done = await suspendHotels(db, { ...namedOf(cli, named, options), reason: options.reason })
    const { suspended, already, unknown, on_the_way, same_company } = done
    const requests = [...new Set(on_the_way.map(({ submission_id }) => submission_id))]
    const on = `Rows of ${[...new Set(on_the_way.map(({ partner_id }) => partner_id))].join(', ')} are on their way in ${requests.length === 1 ? 'submission' : 'submissions'} ${requests.join(', ')}, which ${requests.length === 1 ? 'goes' : 'go'} on.`
    return {
      json: done,
      lines: [
        ...(suspended.length === 0
          ? []
          : [
              `${suspended.join(', ')} ${isOrAre(suspended)} suspended: no new request carries a row of ${itOrThem(suspended)}.`,
            ]),
        ...(already.length === 0 ? [] : [`${already.join(', ')} ${isOrAre(already)} suspended already.`]),
        ...(requests.length === 0 ? [] : [on]),
        ...same_company.map(
          ({ partner_id, company_id, other }) =>
            `${other} is the same company as ${partner_id} (${company_id}), and is sent as ever.`,
        ),
        ...strangers(unknown),
      ],
    }
  })
}

/** `nightferry hotels resume <hotel>…`: the next run sends what is pending of them. */
export async function resume(cli: Cli, named: readonly string[], options: NamedOptions): Promise<ExitCode> {
  return await act(cli, options, async (db) => {
    const done = await resumeHotels(db, namedOf(cli, named, options))
    const { resumed, already, unknown } = done
    return {
      json: done,
      lines: [
        ...(resumed.length === 0
          ? []
          : [
              `${resumed.join(', ')} ${isOrAre(resumed)} resumed. The next run sends what is pending of ${itOrThem(resumed)}.`,
            ]),
        ...(already.length === 0 ? [] : [`${already.join(', ')} ${isOrAre(already)} not suspended.`]),
        ...strangers(unknown),
      ],
    }
  })
}

export type PilotOptions = NamedOptions & { reason?: string; end?: boolean }

/** `nightferry hotels pilot <hotel>…`: only these are sent. With `--end` all are again. */
export async function pilot(cli: Cli, named: readonly string[], options: PilotOptions): Promise<ExitCode> {
  const { reason, end = false } = options
  if (end && (named.length > 0 || reason !== undefined))
    throw new UsageError('--end goes with no hotel and no --reason')
  if (!end && named.length === 0)
    throw new UsageError('Name the hotels that are to be sent, or end the pilot with --end')
  if (!end && reason === undefined) throw new UsageError('--reason: say why, for anyone who looks')
  return await act(cli, options, async (db) => {
    if (end) {
      await endPilot(db, { actor: actingUser(cli), at: cli.now() })
      const line =
        'The pilot has ended. The next run sends what is pending of all hotels that are not suspended by their ids.'
      return { json: { ended: true }, lines: [line] }
    }
    const done = await beginPilot(db, { ...namedOf(cli, named, options), reason: reason ?? '' })
    const { hotels: members, unknown, on_the_way } = done
    return {
      json: done,
      lines: [
        `${counted(members.length, 'hotel')} ${members.length === 1 ? 'goes' : 'go'}: ${members.join(', ')}. All others are suspended, also those that the partner adds.`,
        ...(on_the_way === 0
          ? []
          : [`Rows of ${counted(on_the_way, 'other hotel')} are on their way; their requests go on.`]),
        ...strangers(unknown),
      ],
    }
  })
}

type Done = { json: unknown; lines: string[] }

/** Does what a person asked for and says so; a refusal reads like a command line that was wrong. */
async function act(cli: Cli, options: CommonOptions, work: (db: Database) => Promise<Done>): Promise<ExitCode> {
  return await withDatabase(
    cli,
    options,
    async ({ db }) => {
      const { json, lines } = await work(db).catch((error: unknown) => {
        if (!(error instanceof ActionRefused)) throw error
        throw new UsageError(error.code === 'hotel_unknown' ? `${error.message}: --unknown` : `${error.message}.`)
      })
      if (options.json) printJson(cli.stdout, json)
      else for (const line of lines) printLine(cli.stdout, readable(line))
      return exitCodes.well
    },
    'write',
  )
}

function namedOf(cli: Cli, named: readonly string[], { unknown = false }: NamedOptions) {
  return { hotels: named, unknown, actor: actingUser(cli), at: cli.now() }
}

function strangers(unknown: readonly string[]): string[] {
  return unknown.length === 0 ? [] : [`Nothing was ever read of ${unknown.join(', ')}: check the spelling.`]
}

function isOrAre(all: readonly unknown[]): string {
  return all.length === 1 ? 'is' : 'are'
}

function itOrThem(all: readonly unknown[]): string {
  return all.length === 1 ? 'it' : 'them'
}
