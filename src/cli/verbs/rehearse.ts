import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { requirementsOf, requireSettings } from '../../config/require-settings.ts'
import { type Config, settings } from '../../config/schema.ts'
import { createDatabase, createPool } from '../../db/database.ts'
import { parkedRowIds } from '../../db/ledger/rows-in-state.ts'
import { migrateToLatest, schemaName } from '../../db/migrate-to-latest.ts'
import { copyInUse, newestCopy } from '../../db/own-server.ts'
import type { RunReport } from '../../pipeline/report/report.ts'
import { needsGroup } from '../../pipeline/streams/our-streams.ts'
import { bytesNeeded, copyLedger, type LedgerCopy, ledgerBytes, requireRoom } from '../../rehearsal/copy/copy-ledger.ts'
import { pointAtMirror } from '../../rehearsal/copy/rehearsal-database.ts'
import {
  needsPerson,
  type PastTask,
  pastTasks,
  type RehearsedNight,
  readNight,
} from '../../rehearsal/result/rehearsed-night.ts'
import { startSandbox } from '../../sandbox/start-sandbox.ts'
import { openWorldFile, type WorldSource } from '../../world/world-file.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { mirrorWorld } from '../mirror-world.ts'
import { openDatabase } from '../open-database.ts'
import { openFerry, quietConfig } from '../open-ferry.ts'
import { readConfig, readContract } from '../read-config.ts'
import { openRehearsalPlace } from '../rehearsal-place.ts'
import { grouped } from '../show/readable.ts'
import { type Rehearsal, renderRehearsal } from '../show/render-rehearsal.ts'
import { runToEnd } from './run.ts'

export type RehearseOptions = CommonOptions & { world?: string; database?: string; keep?: boolean; limit: number }

/** The mirror answers at once, so it is asked often. Milliseconds. */
const pollMs = 250

/** Where the night runs: a mirror that answers, with a key that was made for it. */
type Mirror = { url: string; apiKey: string; source: WorldSource }

/**
 * `nightferry rehearse`: tonight's night against a mirror of the service, on a copy of the ledger. The service gets
 * GET requests and searches for the mirror, and nothing of the night; the partner's database is read as in a night.
 */
export async function rehearse(cli: Cli, options: RehearseOptions): Promise<ExitCode> {
  const config = quietConfig(readConfig(cli, options))
  const real = requireSettings(config, needsGroup(readContract(cli, config), config.streams))
  const named = databaseNamed(cli, options)
  const own = await openDatabase(cli, config, { access: 'read' })
  try {
    const partnerUrl = await own.resolveUrl(real.partnerUrl)
    const size = await ledgerBytes(own.pool)
    const place = await openRehearsalPlace(cli, config, own, named)
    try {
      printLine(
        cli.stderr,
        `The copy of the ledger goes to ${place.name} and takes about ${mebibytes(size)} MiB there.`,
      )
      await requireRoom(place.folder, bytesNeeded(size, 0))
      const { world, remove } = await worldFor(cli, config, options)
      try {
        await requireRoom(place.folder, bytesNeeded(size, (await stat(world)).size))
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
          const source = await openWorldFile(world)
          const copy = createDatabase(pool)
          const past = await pastTasks(copy)
          await using mirror = await startMirror(cli, config, place.url, source)
          const rehearsed = {
            ...rehearsalConfig(config, mirror, place.url),
            partner: { ...config.partner, url: partnerUrl },
          }
          const mirrored = requireSettings(rehearsed, false)
          const { moved, inFlight } = await pointAtMirror(copy, { required: real }, { required: mirrored })
          const requires = requirementsOf(config)
          const parkedBefore = await parkedRowIds(copy, requires)
          const outcome = await runNight(cli, rehearsed, async (report) =>
            readNight(copy, {
              report,
              past,
              requires,
              parkedBefore,
              limit: options.limit,
              knownFields: source.head.fieldTypes.map(({ id }) => id),
            }),
          )
          return tell(cli, options, {
            mirror: source.head.mirrored,
            copy: { ...copied, database: options.keep === true ? place.name : null },
            notes: notesOf({
              moved,
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
        await remove()
      }
    } finally {
      await place.leave(options.keep === true)
    }
  } finally {
    await own.close()
  }
}

function databaseNamed(cli: Cli, { database }: RehearseOptions): string | null {
  if (database !== undefined && URL.canParse(database) && new URL(database).password !== '') {
    throw new UsageError(
      '--database holds a password, which other users see on the command line: set REHEARSAL_DATABASE_URL instead',
    )
  }
  return database ?? cli.environment.REHEARSAL_DATABASE_URL ?? null
}

/** The world file that was named, or a mirror that is taken now and removed in the end. */
async function worldFor(
  cli: Cli,
  config: Config,
  { world }: RehearseOptions,
): Promise<{ world: string; remove: () => Promise<void> }> {
  if (world !== undefined) return { world: resolve(cli.workingFolder, world), remove: async () => {} }
  const folder = resolve(cli.workingFolder, config.database.folder)
  await mkdir(folder, { recursive: true })
  // How large the file will be shows when it is there, and the copy may be on another disk.
  await requireRoom(folder, bytesNeeded(0, 0), 'world')
  const file = resolve(folder, `rehearsal-${randomUUID()}.world`)
  printLine(cli.stderr, 'Mirroring the service: GET requests and searches only …')
  const { companies } = await mirrorWorld(cli, config, file)
  printLine(cli.stderr, `The mirror has ${grouped(companies)} companies.`)
  return { world: file, remove: () => rm(file, { force: true }) }
}

async function startMirror(
  cli: Cli,
  config: Config,
  databaseUrl: string,
  source: WorldSource,
): Promise<Mirror & AsyncDisposable> {
  const identifier = config.exchange.customIdentifierId?.toLowerCase()
  const owner = source.head.customProperties.find(({ id }) => id === identifier)
  if (owner === undefined) {
    throw new UsageError(
      `The world has no custom property ${identifier} (exchange.customIdentifierId). Take a mirror of the configured service, or set the identifier of this world.`,
    )
  }
  const apiKey = randomBytes(24).toString('base64url')
  const service = await startSandbox({
    databaseUrl,
    contract: readContract(cli, config),
    // The key of a mirror is in its file, for everybody to read: here only the one that is made now lets anybody in.
    world: { ...source, head: { ...source.head, apiKeys: [] } },
    seed: 1,
    companies: 0,
    port: 0,
    apiKeys: [{ id: randomUUID(), key: apiKey, profileId: owner.profileId }],
    durations: { pendingMs: 0, scheduledMs: 0, jitter: 0 },
    signal: cli.signal,
  })
  return { url: service.url, apiKey, source, [Symbol.asyncDispose]: () => service.close() }
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
  moved,
  inFlight,
  past,
  kinds,
  restored,
}: {
  moved: string | null
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
    ...(moved === null
      ? []
      : [
          `The real run would stop (destination_changed): ${moved}. nightferry destination decides that; this rehearsal went on.`,
        ]),
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
  const { night } = rehearsal
  if (night === null || night.verdict === 'failed') return exitCodes.failed
  return needsPerson(night) ? exitCodes.partial : exitCodes.well
}

function mebibytes(bytes: number): string {
  return grouped(Math.max(1, Math.ceil(bytes / 1024 / 1024)))
}
