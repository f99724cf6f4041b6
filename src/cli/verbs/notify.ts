import { newestNotifications } from '../../db/runs/newest-runs.ts'
import { channelsOf } from '../../pipeline/notify/channels.ts'
import { testMessage } from '../../pipeline/notify/message.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { readConfig } from '../read-config.ts'
import { moment, readable } from '../show/readable.ts'
import { cutList, table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'

export type NotifyOptions = CommonOptions & { test?: boolean; heartbeat?: boolean; limit: number }

/**
 * `nightferry notify`: the messages about runs, and which of them could not be delivered; `--test` tells that this is a
 * test.
 */
export async function notify(cli: Cli, options: NotifyOptions): Promise<ExitCode> {
  if (options.heartbeat && !options.test) throw new UsageError('--heartbeat belongs to nightferry notify --test')
  return options.test ? await sendTest(cli, options) : await listTold(cli, options)
}

async function sendTest(cli: Cli, options: NotifyOptions): Promise<ExitCode> {
  const { heartbeat = false } = options
  const channels = channelsOf(readConfig(cli, options).notify, heartbeat)
  if (channels.length === 0) {
    throw new UsageError(
      heartbeat
        ? 'notify.heartbeatUrl is not set: put the address into NIGHTFERRY_NOTIFY_HEARTBEAT_URL'
        : 'notify.url is not set, nor notify.email: put the address into NIGHTFERRY_NOTIFY_URL',
    )
  }
  const message = heartbeat ? { ...testMessage, event: 'heartbeat' as const } : testMessage
  const answers: { name: string; error: string | null }[] = []
  for (const { receivers, send } of channels) {
    const names = receivers.map(({ name }) => name)
    const notTaken = await send(message, names, { signal: cli.signal })
    answers.push(...names.map((name) => ({ name, error: notTaken.get(name)?.error ?? null })))
  }
  const error = answers.find((one) => one.error !== null)?.error ?? null
  if (options.json) printJson(cli.stdout, { sent: error === null, error, receivers: answers })
  else {
    const what = heartbeat ? 'call' : 'test message'
    const lines = answers.map(({ name, error: failed }) => {
      if (failed !== null) return `Not sent: ${failed}.`
      return name === 'notify.url' ? 'The receiver took the test message.' : `${name} took the ${what}.`
    })
    // A mail server that is not reached is so for each of its addresses.
    for (const line of new Set(lines)) printLine(cli.stdout, readable(line))
  }
  return error === null ? exitCodes.well : exitCodes.failed
}

async function listTold(cli: Cli, options: NotifyOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }) => {
    const { rows: found, cut } = cutList(cli, options, await newestNotifications(db, options.limit + 1))
    if (options.json) {
      printJson(cli.stdout, found)
      return exitCodes.well
    }
    const stateOf = (one: (typeof found)[number]) => {
      if (one.told_at !== null) {
        const told = `told ${moment(one.told_at)}`
        if (one.error === null) return told
        return `${told}, ${one.next_at === null ? 'given up for others' : 'tried on for others'}: ${one.error}`
      }
      if (one.next_at !== null) return one.error === null ? 'due' : `tried ${one.attempts} times: ${one.error}`
      return one.error === null ? 'not wanted (notify.on)' : `given up: ${one.error}`
    }
    printLine(
      cli.stdout,
      found.length === 0
        ? 'Nothing was told of any run yet.'
        : table(
            ['no', 'run', 'event', 'noted (UTC)', 'what became of it', 'cause'],
            found.map((one) => [
              one.notification_id,
              one.run_id ?? '–',
              one.event,
              moment(one.created_at),
              stateOf(one),
              one.cause,
            ]),
          ),
    )
    if (cut !== null) printLine(cli.stdout, `\n${cut}`)
    return exitCodes.well
  })
}
