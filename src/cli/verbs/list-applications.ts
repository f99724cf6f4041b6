import { eventsOfApplication, newestApplications } from '../../db/webhooks/listed-events.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { moment } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'

export type ApplicationsOptions = CommonOptions & { status?: string; limit: number }

/** `nightferry applications [id]`: the applications that webhooks told of, or all that they told of one. */
export async function listApplications(
  cli: Cli,
  applicationId: string | undefined,
  options: ApplicationsOptions,
): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }) => {
    if (applicationId !== undefined) {
      const events = await eventsOfApplication(db, applicationId, options.limit)
      if (options.json) printJson(cli.stdout, events)
      else printLine(cli.stdout, events.length === 0 ? 'Nothing was told of that application.' : eventTable(events))
      return exitCodes.well
    }
    const found = await newestApplications(db, options)
    if (options.json) printJson(cli.stdout, found)
    else printLine(cli.stdout, found.length === 0 ? 'No webhook told of such an application.' : standings(found))
    return exitCodes.well
  })
}

function standings(found: Awaited<ReturnType<typeof newestApplications>>): string {
  return table(
    ['application', 'profile', 'status', 'since (UTC)', 'answers changed (UTC)', 'events'],
    found.map((one) => [
      one.application_id,
      one.profile_id,
      one.status,
      moment(one.status_at),
      moment(one.answers_changed_at),
      one.events,
    ]),
  )
}

function eventTable(events: Awaited<ReturnType<typeof eventsOfApplication>>): string {
  return table(
    ['happened (UTC)', 'what changed', 'status', 'came (UTC)', 'event'],
    events.map((one) => [moment(one.recorded_at), one.change, one.status, moment(one.first_at), one.event_id]),
  )
}
