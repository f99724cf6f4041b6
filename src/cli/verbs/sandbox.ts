import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { grouped } from '../../counted.ts'
import { keepRunning } from '../../embedded/open-cluster.ts'
import { loadContract } from '../../exchange/contract.ts'
import { given } from '../../given.ts'
import { boundResident } from '../../heap.ts'
import { suggestStreams } from '../../init/suggest-streams.ts'
import { writtenConfig } from '../../init/written-config.ts'
import { catalogue } from '../../sandbox/catalogue.ts'
import { madeUpWorld, type World, worldOf } from '../../sandbox/service-world.ts'
import { type RunningSandbox, startSandbox } from '../../sandbox/start-sandbox.ts'
import { openWorldFile } from '../../world/world-file.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  printJson,
  printLine,
  UsageError,
  untilInterrupted,
} from '../cli.ts'
import { createLogger } from '../log.ts'
import { mirrorWorld } from '../mirror-world.ts'
import { openEmbedded } from '../open-embedded.ts'
import { packagedConfig, readConfig, readContract } from '../read-config.ts'
import type { SandboxChoices } from '../sandbox-options.ts'
import { readable } from '../show/readable.ts'
import { untilSignal } from '../whole-process.ts'

export type SandboxOptions = CommonOptions & SandboxChoices

/** Between two lines about how far the making of calculators has got. */
const hotelsPerLine = 10_000

/** `nightferry sandbox`: the service itself, for development, until it is interrupted. */
export async function sandbox(cli: Cli, options: SandboxOptions): Promise<ExitCode> {
  if (options.mirror !== undefined) return await mirror(cli, options, options.mirror)
  refuseMixed(options)
  using _bounded = boundResident()
  const { world: worldFile, ...choices } = options
  const source = worldFile === undefined ? null : await openWorldFile(resolve(cli.workingFolder, worldFile))
  const world = source === null ? madeUpWorld : worldOf(source.head)
  if (options.printConfig === true) {
    cli.stdout.write(sandboxConfig(world, `http://${options.host}:${options.port}`))
    return exitCodes.well
  }
  const database = options.database ?? (source === null ? 'sandbox' : 'sandbox_world')
  const config = readConfig(cli, options)
  const contract = readContract(cli, config)
  const cluster = await openEmbedded(cli, config)
  const keeper = keepRunning(cluster, () =>
    printLine(cli.stderr, 'The embedded PostgreSQL had ended and was started again.'),
  )
  try {
    await cluster.ensureDatabase(database)
    const starting = startSandbox({
      ...given(choices),
      ...(source !== null && { world: source }),
      databaseUrl: cluster.url(database),
      contract,
      filesPort: options.filesPort ?? nextPort(options.port),
      durations: given({
        pendingMs: options.pendingMs,
        scheduledMs: options.scheduledMs,
        jitter: options.jitter,
        processing: options.duration,
      }),
      onSeeding: (done, of) => {
        if (done % hotelsPerLine > 0 && done < of) return
        printLine(cli.stderr, `Calculators of ${grouped(done)} of ${grouped(of)} hotels …`)
      },
      signal: cli.signal,
      logger: createLogger(cli.stderr, config.log.level === 'info' ? 'warn' : config.log.level, []),
    })
    const service = await untilSignal(cli, starting)
    try {
      const started: Started = {
        ...service,
        world,
        options,
        descriptionUrl: `${service.url}${contract.otherEndpoints.description.path}`,
        unitTypesUrl: `${service.url}${contract.endpoints.unitTypes.path}`,
      }
      if (options.json) printJson(cli.stdout, inJson(started))
      else for (const line of inWords(started)) printLine(cli.stdout, line)
      await untilInterrupted({ ...cli, signal: AbortSignal.any([cli.signal, service.lost, keeper.lost]) })
      for (const { aborted, reason } of [keeper.lost, service.lost]) if (aborted) throw reason
    } finally {
      await service.close()
    }
    return exitCodes.well
  } finally {
    await keeper.stop()
    await cluster.release()
  }
}

/** What `nightferry init` would write for the profile of the first key, with the names that only the sandbox knows. */
function sandboxConfig(world: World, baseUrl: string): string {
  const [key] = world.apiKeys
  const own = <T extends { profileId: number }>(all: readonly T[]) =>
    all.filter(({ profileId }) => profileId === key?.profileId)
  const titled = ({ id, title }: { id: string; title: string }) => ({ id, name: title })
  const identifiers = own(world.customProperties).filter(({ isIdentifier }) => isIdentifier)
  const groups = own(world.groups)
  return writtenConfig({
    readOnly: false,
    tables: [],
    baseUrl,
    openKey: key?.key ?? null,
    partnerUrl: null,
    identifier: identifiers[0] ?? null,
    identifiers,
    group: groups[0] ?? null,
    groups,
    properties: own(world.customProperties),
    frameworks: world.frameworks.map(titled),
    fieldTypes: (world === madeUpWorld ? catalogue : world).fieldTypes.map(({ id, name, unit }) => ({
      id,
      name: unit === '' ? name : `${name} (${unit})`,
    })),
    standards: world.standards.map(titled),
    dialect: 'postgres',
    suggestions: suggestStreams([]),
    contract: loadContract(packagedConfig('contract.yaml')),
    schema: pathToFileURL(packagedConfig('nightferry.schema.json')).href,
  })
}

/** Mirrors the configured deployment into a world file. */
async function mirror(cli: Cli, options: SandboxOptions, file: string): Promise<ExitCode> {
  if (options.world !== undefined || options.printConfig === true) {
    throw new UsageError('--mirror writes a world file and starts nothing: leave --world and --print-config out')
  }
  const written = await mirrorWorld(cli, readConfig(cli, options), resolve(cli.workingFolder, file))
  if (options.json) printJson(cli.stdout, { file, ...written })
  else {
    printLine(cli.stdout, `Wrote ${file}: ${grouped(written.companies)} companies, ${grouped(written.bytes)} bytes.`)
    printLine(cli.stdout, 'What it does not show:')
    for (const unseen of written.notSeen) printLine(cli.stdout, readable(`  ${unseen}`))
    printLine(cli.stdout, `To serve it: nightferry sandbox --world ${file}`)
  }
  return exitCodes.well
}

/** Nothing is made up in the world of a file. */
function refuseMixed({ world, calculators }: SandboxOptions): void {
  if (world === undefined || calculators !== true) return
  throw new UsageError('--calculators makes up calculators, and --world makes up nothing: leave one of them out')
}

/** Result files are next door, unless there is no telling where that is. */
function nextPort(port: number): number {
  return port === 0 || port === 65_535 ? 0 : port + 1
}

type Started = Pick<RunningSandbox, 'url' | 'filesUrl'> & {
  world: World
  options: SandboxOptions
  descriptionUrl: string
  unitTypesUrl: string
}

function inJson({ url, filesUrl, descriptionUrl, world, options }: Started): object {
  return {
    url,
    filesUrl,
    descriptionUrl,
    administrationUrl: `${url}/sandbox`,
    apiKeys: world.apiKeys.map(({ key, profileId }) => ({ key, profileId })),
    seed: options.seed,
    ...(options.world === undefined ? { companies: options.companies } : { world: options.world }),
    timeWarp: options.timeWarp,
    chaos: Object.fromEntries(options.chaos ?? []),
  }
}

function inWords({ url, filesUrl, descriptionUrl, unitTypesUrl, world, options }: Started): string[] {
  const [key] = world.apiKeys
  const acting = world.profiles.filter(({ id }) => world.apiKeys.some(({ profileId }) => profileId === id))
  const keys = acting.map((profile) => {
    const own = world.apiKeys.filter(({ profileId }) => profileId === profile.id).map(({ key }) => key)
    return `  ${own.join(' and ')}: profile ${profile.id}, ${profile.name}`
  })
  const trouble = [...(options.chaos ?? [])].map(([name, share]) => `${name} ${share}`).join(', ')
  return [
    `The sandbox answers at ${url}; result files are at ${filesUrl}.`,
    'Its API keys:',
    ...keys,
    `Its description: ${descriptionUrl}`,
    ...(options.timeWarp === 1 ? [] : [`Its time runs ${options.timeWarp} times as fast.`]),
    ...(trouble === '' ? [] : [`Trouble that strikes a share of the time: ${trouble}.`]),
    ...(key === undefined ? [] : [`Try: curl -H 'Authorization: ${key.key}' ${unitTypesUrl}`]),
    'Ctrl-C ends it.',
  ]
}
