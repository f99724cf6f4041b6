import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseChaos } from '../sandbox/chaos/parse-chaos.ts'
import { maxTimeWarp } from '../sandbox/clock.ts'
import type { DurationSettings } from '../sandbox/durations.ts'
import { parseDuration } from '../sandbox/parse-duration.ts'
import { fraction, wholeNumber } from './option-values.ts'

type Durations = NonNullable<DurationSettings['processing']>

/** What the options come to; what was not given is absent, and the service's own default holds. */
export type SandboxChoices = {
  seed: number
  companies: number
  calculators?: boolean
  /** Null: `sandbox`, or `sandbox_world` for the world of a file. */
  database: string | null
  /** A world file to serve. */
  world?: string
  /** A world file to write. */
  mirror?: string
  host: string
  port: number
  filesPort?: number
  publicUrl?: string
  publicFilesUrl?: string
  fileUrlLifetimeMs?: number
  pageSize?: number
  workers?: number
  pendingMs?: number
  scheduledMs?: number
  duration?: Durations
  jitter?: number
  retentionDays?: number
  timeWarp: number
  chaos?: ReadonlyMap<string, number>
  allowInsecureWebhooks?: boolean
  printConfig?: boolean
  webhookDispatchMs?: number
}

/** As long as a timer of Node waits. */
const longestMs = 2 ** 31 - 1

/** The options of `nightferry sandbox`, grouped as its help shows them. */
export function addSandboxOptions(command: Command): Command {
  return command
    .optionsGroup('World:')
    .option('--seed <number>', 'which made-up world', wholeNumber(0, 2 ** 31 - 1), 1)
    .option(
      '--companies <count>',
      'hotels 1 to this one are its companies, but for every fiftieth; a world grows, and never shrinks',
      wholeNumber(0, 10_000_000),
      202,
    )
    .option('--calculators', 'give each company thirteen calculators of the last full year; 100,000 take minutes')
    .addOption(
      new Option('--database <name>', 'database of the embedded server that holds its state')
        .argParser(databaseName)
        .default(null, 'sandbox, or sandbox_world with --world'),
    )
    .option('--world <file>', 'serve the world of this file instead of a made-up one; docs/sandbox.md describes it')
    .option(
      '--mirror <file>',
      'write a world file of what the configured deployment shows, by GET requests and searches alone, and start nothing',
    )
    .option('--print-config', 'print a configuration for this world, with the names behind its ids, and start nothing')
    .optionsGroup('Addresses:')
    .option('--host <address>', 'address to listen on; the keys are no secret, so mind who can reach it', '127.0.0.1')
    .option('--port <port>', 'port of the API; 0: any free one', wholeNumber(0, 65_535), 4710)
    .option('--files-port <port>', 'port of the result files (default: the next one)', wholeNumber(0, 65_535))
    .option('--public-url <url>', 'how others reach the API, behind a proxy or from a container', webAddress)
    .option('--public-files-url <url>', 'how others reach the result files; their addresses begin with it', webAddress)
    .option(
      '--file-url-lifetime-ms <ms>',
      'how long the address of a result file is good for (default: an hour)',
      wholeNumber(1, longestMs),
    )
    .optionsGroup('Tasks:')
    .option('--page-size <count>', 'companies per page of a search (default: 1000)', wholeNumber(1, 100_000))
    .option('--workers <count>', 'tasks processed at once (default: 4)', wholeNumber(1, 64))
    .option('--pending-ms <ms>', 'least time as Pending (default: 20)', wholeNumber(0, longestMs))
    .option('--scheduled-ms <ms>', 'least time as Scheduled (default: 20)', wholeNumber(0, longestMs))
    .option(
      '--duration <request=time...>',
      'time in process, such as calculatorsSearch=500ms+20us; +20us per item (default: 50ms+5us)',
      duration,
    )
    .option('--jitter <share>', 'share by which the time in process varies, up or down (default: 0.5)', fraction)
    .option(
      '--retention-days <days>',
      'how long ended tasks, their files and the log are kept (default: 30)',
      wholeNumber(1, 36_500),
    )
    .optionsGroup('Time and trouble:')
    .option('--time-warp <factor>', "how many times as fast the sandbox's time runs", timeWarp, 1)
    .option(
      '--chaos <profiles>',
      'trouble from the start, such as lost-answer=0.2,latency; GET /sandbox/chaos lists all',
      chaos,
    )
    .optionsGroup('Webhooks:')
    .option('--allow-insecure-webhooks', 'let them lead to http and to private addresses')
    .option('--webhook-dispatch-ms <ms>', 'time between two dispatches (default: a minute)', wholeNumber(1, longestMs))
}

/** What can stand in a URL as it is. */
function databaseName(text: string): string {
  if (/^[a-z_][\w-]{0,62}$/i.test(text)) return text
  throw new InvalidArgumentError('A name of letters, digits, _ and - is wanted.')
}

function webAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text
  throw new InvalidArgumentError('An address that begins with http:// or https:// is wanted.')
}

function timeWarp(text: string): number {
  const factor = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && factor >= 1 && factor <= maxTimeWarp) return factor
  throw new InvalidArgumentError(`A number from 1 to ${maxTimeWarp} is wanted.`)
}

function duration(text: string, before: Durations = {}): Durations {
  const { request, processing } = inArgument(() => parseDuration(text))
  return { ...before, [request]: processing }
}

function chaos(text: string): ReadonlyMap<string, number> {
  return inArgument(() => parseChaos(text))
}

/** A fault of the text becomes one of the command line. */
function inArgument<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}
