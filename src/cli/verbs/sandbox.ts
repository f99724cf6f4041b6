import { keepRunning } from '../../embedded/keep-running.ts'
import { catalogue } from '../../sandbox/catalogue.ts'
import { type RunningSandbox, startSandbox } from '../../sandbox/start-sandbox.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  printJson,
  printLine,
  untilInterrupted,
} from '../cli.ts'
import { createLogger } from '../log.ts'
import { openEmbedded } from '../open-embedded.ts'
import { readConfig, readContract } from '../read-config.ts'
import type { SandboxChoices } from '../sandbox-options.ts'
import { grouped } from '../show/readable.ts'
import { untilSignal } from '../until-signal.ts'

export type SandboxOptions = CommonOptions & SandboxChoices

/** Between two lines about how far the making of calculators has got. */
const hotelsPerLine = 10_000

/** `nightferry sandbox`: the service itself, for development, until it is interrupted. */
export async function sandbox(cli: Cli, options: SandboxOptions): Promise<ExitCode> {
  const config = readConfig(cli, options)
  const contract = readContract(cli, config)
  const cluster = await openEmbedded(cli, config)
  const keeper = keepRunning(cluster, () =>
    printLine(cli.stderr, 'The embedded PostgreSQL had ended and was started again.'),
  )
  try {
    await cluster.ensureDatabase(options.database)
    const starting = startSandbox({
      ...given(options),
      databaseUrl: cluster.url(options.database),
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

/** Result files are next door, unless there is no telling where that is. */
function nextPort(port: number): number {
  return port === 0 || port === 65_535 ? 0 : port + 1
}

/** The options that were given: an absent one must stay absent, so that its default holds. */
function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

type Started = Pick<RunningSandbox, 'url' | 'filesUrl'> & {
  options: SandboxOptions
  descriptionUrl: string
  unitTypesUrl: string
}

function inJson({ url, filesUrl, descriptionUrl, options }: Started): object {
  return {
    url,
    filesUrl,
    descriptionUrl,
    administrationUrl: `${url}/sandbox`,
    apiKeys: catalogue.apiKeys.map(({ key, profileId }) => ({ key, profileId })),
    seed: options.seed,
    companies: options.companies,
    timeWarp: options.timeWarp,
    chaos: Object.fromEntries(options.chaos ?? []),
  }
}

function inWords({ url, filesUrl, descriptionUrl, unitTypesUrl, options }: Started): string[] {
  const keys = catalogue.profiles.map((profile) => {
    const own = catalogue.apiKeys.filter(({ profileId }) => profileId === profile.id).map(({ key }) => key)
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
    `Try: curl -H 'Authorization: ${catalogue.apiKeys[0]?.key}' ${unitTypesUrl}`,
    'Ctrl-C ends it.',
  ]
}
