import { changeWords, type DestinationChange, destinationChange } from '../../pipeline/destination/check-destination.ts'
import {
  addressOf,
  allDestinations,
  destinationInUse,
  stakeInUse,
} from '../../pipeline/destination/find-destination.ts'
import { type Decided, otherDestination, sameDestination } from '../../pipeline/destination/switch-destination.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { openStages, quietConfig } from '../open-ferry.ts'
import { readConfig } from '../read-config.ts'
import { moment, readable } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { toItsEnd } from '../whole-process.ts'
import { actingUser } from '../with-database.ts'

export type Decision = 'same' | 'other'

export type DestinationOptions = CommonOptions & { name?: string }

/**
 * `nightferry destination [same|other]`: which services, profiles and identifiers rows were sent to, and, where the
 * configuration points to another than the one in use, a person's word on which it is.
 */
export async function destination(
  cli: Cli,
  decision: Decision | undefined,
  options: DestinationOptions,
): Promise<ExitCode> {
  const { deps, close } = await openStages(cli, quietConfig(readConfig(cli, options)))
  try {
    return decision === undefined
      ? await show(cli, deps, options)
      : await toItsEnd(decide(cli, deps, decision, options))
  } finally {
    await close()
  }
}

type Stages = Awaited<ReturnType<typeof openStages>>['deps']

async function show(cli: Cli, deps: Stages, options: DestinationOptions): Promise<ExitCode> {
  const change = await destinationChange(deps, 'ask')
  const known = await allDestinations(deps.db)
  const words = change === null ? null : changeWords(change, await stakeInUse(deps.db))
  if (options.json) printJson(cli.stdout, { destinations: known, changed: change?.changed ?? [], words })
  else {
    printLine(
      cli.stdout,
      table(
        ['destination', 'in use', 'service', 'identifier', 'tables in', 'used since (UTC)', 'left (UTC)'],
        known.map((one) => [
          one.name,
          one.schema_name === null ? 'yes' : '',
          addressOf(one),
          one.custom_identifier_id,
          one.schema_name ?? 'nightferry',
          moment(one.used_since),
          moment(one.left_at),
        ]),
      ),
    )
    if (words !== null) printLine(cli.stdout, `\n${readable(words)}.`)
  }
  return change === null ? exitCodes.well : exitCodes.partial
}

async function decide(cli: Cli, deps: Stages, decision: Decision, options: DestinationOptions): Promise<ExitCode> {
  const change = await destinationChange(deps, 'ask')
  const asked = { actor: actingUser(cli), at: cli.now(), ...(options.name !== undefined && { name: options.name }) }
  const decided = await decidedOn(deps, decision, change, asked)
  if (options.json) printJson(cli.stdout, decided)
  else printLine(cli.stdout, readable(decidedWords(decision, decided)))
  return exitCodes.well
}

/** Where nothing changed, a person can only give the destination in use another name. */
async function decidedOn(
  deps: Stages,
  decision: Decision,
  change: DestinationChange | null,
  asked: Parameters<typeof sameDestination>[2],
): Promise<Decided> {
  if (change !== null) return await (decision === 'same' ? sameDestination : otherDestination)(deps, change, asked)
  if (decision === 'same' && asked.name !== undefined) {
    return await sameDestination(deps, { inUse: await destinationInUse(deps.db) }, asked)
  }
  throw new UsageError(
    'The configuration points to the destination in use; there is nothing to decide. To give it a name: nightferry destination same --name NAME',
  )
}

function decidedWords(decision: Decision, { destination: name, was, address, made, lost }: Decided): string {
  if (decision === 'same') {
    const moved = name === was ? `${name} is at ${address} now` : `${name}, at ${address}, is what was called ${was}`
    return `${moved}. Everything that was accepted stays accepted.`
  }
  const kept = `What ${was} took is kept, and found again when the configuration points to it.`
  if (lost) {
    return `${name} is in use again, but what it took before is not in this database: a backup must hold all schemas whose names begin with nightferry. The next run sends it every row. ${kept}`
  }
  return made
    ? `${name} is in use, and new: the next run sends it every row. ${kept}`
    : `${name} is in use again, with what it took before: the next run sends what changed since. ${kept}`
}
