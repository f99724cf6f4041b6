import { randomBytes, randomUUID } from 'node:crypto'
import { requirementsOf, requireSettings } from '../../config/require-settings.ts'
import { type Config, settings } from '../../config/schema.ts'
import { passwordsOf } from '../../config/show-config.ts'
import { grouped } from '../../counted.ts'
import { createDatabase, createPool, type Database } from '../../db/database.ts'
import { migrateToLatest, schemaName } from '../../db/migrate-to-latest.ts'
import { copyInUse, newestCopy } from '../../db/own-server.ts'
import { createExchangeClient } from '../../exchange/client.ts'
import { HttpError, TransportError } from '../../exchange/errors.ts'
import type { Deps } from '../../pipeline/deps.ts'
import {
  configuredDestination,
  type DestinationChange,
  destinationChange,
  isUnaskedKey,
  whatChanged,
} from '../../pipeline/destination/check-destination.ts'
import { destinationInUse, wasKeyUsed } from '../../pipeline/destination/find-destination.ts'
import type { RunReport } from '../../pipeline/report/report.ts'
import { needsGroup } from '../../pipeline/streams/our-streams.ts'
import {
  bytesNeeded,
  copyLedger,
  type LedgerCopy,
  ledgerBytes,
  refuseRunning,
  requireRoom,
} from '../../rehearsal/copy/copy-ledger.ts'
import { pointAtMirror } from '../../rehearsal/copy/rehearsal-database.ts'
import { noteParked } from '../../rehearsal/result/newly-parked.ts'
import {
  needsPerson,
  type PastTask,
  pastTasks,
  type RehearsedNight,
  readNight,
} from '../../rehearsal/result/rehearsed-night.ts'
import { startSandbox } from '../../sandbox/start-sandbox.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { openDatabase } from '../open-database.ts'
import { openFerry, quietConfig } from '../open-ferry.ts'
import { readConfig, readContract } from '../read-config.ts'
import { mirroredWorld, namedWorld, openRehearsalPlace, type RehearsalWorld } from '../rehearsal-place.ts'
import { type Rehearsal, renderRehearsal } from '../show/render-rehearsal.ts'
import { runToEnd } from './run.ts'

export type RehearseOptions = CommonOptions & { world?: string; database?: string; keep?: boolean; limit: number }

/** The mirror answers at once, so it is asked often. Milliseconds. */
const pollMs = 250

/** Where the night runs: a mirror that answers, with a key that was made for it. */
type Mirror = { url: string; apiKey: string }

/**
 * `nightferry rehearse`: tonight's night against a mirror of the service, on a copy of the ledger. The service gets
 * GET requests and searches for the mirror, and nothing of the night; the partner's database is read as in a night.
 */
export async function rehearse(cli: Cli, options: RehearseOptions): Promise<ExitCode> {
  const config = quietConfig(readConfig(cli, options))
  const real = requireSettings(config, needsGroup(readContract(cli, config), config.streams))
  const named = databaseNamed(cli, options)
  const given = options.world === undefined ? null : await namedWorld(cli, config, options.world)
  const own = await openDatabase(cli, config, { access: 'read' })
  try {
    await refuseRunning(own.pool)
    const partnerUrl = await own.resolveUrl(real.partnerUrl)
    const size = await ledgerBytes(own.pool)
    const place = await openRehearsalPlace(cli, config, own, named)
    try {
      printLine(
        cli.stderr,
        `The copy of the ledger goes to ${place.name} and takes about ${mebibytes(size)} MiB there.`,
      )
      await requireRoom(place.folder, bytesNeeded(size, 0))
      const world = given ?? (await mirroredWorld(cli, config))
      try {
        await requireRoom(place.folder, bytesNeeded(size, world.bytes))
        await place.requireHeld()
        await migrateToLatest(place.url)
        const pool = createPool(place.url, {
          max: 2,
          applicationName: 'nightferry rehearse',
          searchPath: schemaName,
          onIdleError: () => {},
        })
        try {
          const restored = isOtherCopy(await copyInUse(own.db), await newestCopy(own.db))
          const copied = await copyLedger(own.pool, pool, cli.signal)
          const copy = createDatabase(pool)
          const past = await pastTasks(copy)
          await using mirror = await startMirror(cli, config, place.url, world)
          const rehearsed = {
            ...rehearsalConfig(config, mirror, place.url),
            partner: { ...config.partner, url: partnerUrl },
          }
          const { moved, unaskedKey } = await judgeDestination(cli, config, {
            required: real,
            ledger: own.db,
            copy,
            service: options.world === undefined ? 'ask' : 'leave',
          })
          const inFlight = await pointAtMirror(copy, { required: requireSettings(rehearsed, false) })
          const requires = requirementsOf(config)
          await noteParked(copy, requires)
          const outcome = await runNight(cli, rehearsed, async (report) =>
            readNight(copy, {
              report,
              past,
              requires,
              limit: options.limit,
              knownFields: world.source.head.fieldTypes.map(({ id }) => id),
            }),
          )
          return tell(cli, options, {
            mirror: world.source.head.mirrored,
            copy: { ...copied, database: options.keep === true ? place.name : null },
            stop: moved === null ? null : { code: 'destination_changed', message: moved },
            notes: notesOf({
              unaskedKey,
              inFlight,
              past,
              restored,
              kinds: readContract(cli, config).kinds.map(({ name }) => name),
            }),
            ...outcome,
          })
        } finally {
          await pool.end()
        }
      } finally {
        await world.remove()
      }
    } finally {
      await place.leave(options.keep === true)
    }
  } finally {
    await own.close()
  }
}

function databaseNamed(cli: Cli, { database }: RehearseOptions): string | null {
  if (database !== undefined && passwordsOf(database).length > 0) {
    throw new UsageError(
      '--database holds a password, which other users see on the command line: set REHEARSAL_DATABASE_URL instead',
    )
  }
  return database ?? cli.environment.REHEARSAL_DATABASE_URL ?? null
}

async function startMirror(
  cli: Cli,
  config: Config,
  databaseUrl: string,
  { source, profileId }: RehearsalWorld,
): Promise<Mirror & AsyncDisposable> {
  const apiKey = randomBytes(24).toString('base64url')
  const service = await startSandbox({
    databaseUrl,
    contract: readContract(cli, config),
    // The key of a mirror is in its file, for everybody to read: here only the one that is made now lets anybody in.
    world: { ...source, head: { ...source.head, apiKeys: [] } },
    seed: 1,
    companies: 0,
    port: 0,
    apiKeys: [{ id: randomUUID(), key: apiKey, profileId }],
    durations: { pendingMs: 0, scheduledMs: 0, jitter: 0 },
    signal: cli.signal,
  })
  return { url: service.url, apiKey, [Symbol.asyncDispose]: () => service.close() }
}

/** The configuration of the night with the mirror in the service's place; nobody is told, and nothing listens. */
function rehearsalConfig(config: Config, mirror: Mirror, databaseUrl: string): Config {
  const { notify, webhooks, http, jobs } = settings.parse({})
  return {
    ...config,
    ...{ notify, webhooks, http, jobs },
    exchange: { ...config.exchange, baseUrl: mirror.url, apiKey: mirror.apiKey, pollIntervalMs: pollMs },
    database: { ...config.database, url: databaseUrl },
  }
}

type Outcome = Pick<Rehearsal, 'night' | 'failure'>

async function runNight(
  cli: Cli,
  config: Config,
  read: (report: RunReport) => Promise<RehearsedNight>,
): Promise<Outcome> {
  const ferry = await openFerry(cli, config, 'rehearsal')
  try {
    const { document } = await runToEnd(cli, ferry, () => {})
    if ('failure' in document) return { night: null, failure: document.failure as Rehearsal['failure'] }
    return { night: await read(document as RunReport), failure: null }
  } finally {
    await ferry.close()
  }
}

/** Whether a backup came back, or the database was moved, since the last run. Null: the server does not tell. */
function isOtherCopy(here: string | null, newest: { copy: string } | null): boolean {
  return here !== null && newest !== null && newest.copy !== here
}

/** What a reader has to know of this rehearsal beside its answers. */
function notesOf({
  unaskedKey,
  inFlight,
  past,
  kinds,
  restored,
}: {
  unaskedKey: boolean
  inFlight: number
  past: readonly PastTask[]
  kinds: readonly string[]
  restored: boolean
}): string[] {
  return [
    ...(restored
      ? [
          "Nightferry's database is another copy than that of the last run, which the real run will say: nightferry doctor explains it.",
        ]
      : []),
    ...(unaskedKey
      ? [
          'The API key is new to this ledger, and the service was not asked whose it is. The real run asks, and stops if it is that of another profile (destination_changed).',
        ]
      : []),
    ...(inFlight === 0
      ? []
      : [
          `Requests of earlier nights that have not ended: ${inFlight}. The mirror does not know them; what they carry may be sent again here, and not tonight.`,
        ]),
    ...(past.length > 0 ? [] : ['No earlier task is known: how long the service takes cannot be told.']),
    ...(kinds.length === 0
      ? []
      : [
          `The mirror has no endpoints for the kinds that the contract adds (${kinds.join(', ')}): what it says of them means nothing.`,
        ]),
  ]
}

function tell(
  cli: Cli,
  options: RehearseOptions,
  rehearsal: Rehearsal & { copy: LedgerCopy & { database: string | null } },
): ExitCode {
  if (options.json) printJson(cli.stdout, rehearsal)
  else cli.stdout.write(renderRehearsal(rehearsal, options.limit))
  const { night, stop } = rehearsal
  if (night === null || stop !== null || night.verdict === 'failed') return exitCodes.failed
  return needsPerson(night) ? exitCodes.partial : exitCodes.well
}

function mebibytes(bytes: number): string {
  return grouped(Math.max(1, Math.ceil(bytes / 1024 / 1024)))
}

type Judged = {
  /** What the real run would stop over, for a person; null: nothing that can be known. */
  moved: string | null
  /** Nobody was asked whose the key is, which is new to the ledger. */
  unaskedKey: boolean
}

type ToJudge = {
  /** Where the configuration points to. */
  required: Deps['required']
  ledger: Database
  /** What is learned is noted there, as the run notes it in the ledger. */
  copy: Database
  /** Whether the service may be asked whose a new key is. */
  service: 'ask' | 'leave'
}

/**
 * Whether tonight's run would find that its destination is another than the one that the ledger was sent to.
 * A service that does not answer now is as one that is not to be asked.
 */
async function judgeDestination(cli: Cli, config: Config, to: ToJudge): Promise<Judged> {
  const { required, ledger, copy, service } = to
  // The copy holds no keys of before destinations had names; the run knows them.
  const { fingerprint } = configuredDestination(to)
  if ((await destinationInUse(ledger)).origin === null && (await wasKeyUsed(ledger, fingerprint))) {
    return { moved: null, unaskedKey: false }
  }
  const { baseUrl, apiKey } = required
  const contract = readContract(cli, config)
  const exchange = createExchangeClient({ ...config.exchange, baseUrl, apiKey, contract, signal: cli.signal })
  const deps = { required, db: copy, exchange, logger: { info: () => {}, warn: () => {} } }
  try {
    return judged(await destinationChange(deps, service))
  } catch (error) {
    const passing = error instanceof TransportError || (error instanceof HttpError && error.status >= 429)
    if (!passing) throw error
    return judged(await destinationChange(deps, 'leave'))
  } finally {
    await exchange.close()
  }
}

function judged(change: DestinationChange | null): Judged {
  const unaskedKey = change !== null && isUnaskedKey(change)
  return { moved: change === null || unaskedKey ? null : whatChanged(change), unaskedKey }
}
