import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { percentDecoded } from '../config/show-config.ts'
import type { Database } from '../db/database.ts'
import { type Cli, ownVersion } from './cli.ts'

/** Sends traces of runs to whatever the standard variables of OpenTelemetry name. */
export type Telemetry = {
  /** Sends the trace of a run that has ended. Never throws: a run is what it is. */
  runEnded(db: Database, runId: number): Promise<void>
  /** Sends what is left, within a few seconds. */
  close(): Promise<void>
}

/** The library that reads the variables, gathers spans and sends them. */
const sdk = '@opentelemetry/sdk-node'

/**
 * How long the work of a process, and its end, are kept waiting by a collector that does not answer. The library goes
 * on for as long as OTEL_EXPORTER_OTLP_TIMEOUT says. Milliseconds.
 */
const closingMs = 3_000

/** Where every copy of the OpenTelemetry API of this major version finds what was registered with any of them. */
const registry = Symbol.for('opentelemetry.js.api.1')

/**
 * Null unless the environment asks for traces: by an exporter or the address of a collector, or because something that
 * was loaded before us (`--import`) has set tracing up already.
 *
 * @param secrets is given what the variables have that the log must not show.
 */
export async function openTelemetry(
  { environment }: Pick<Cli, 'environment'>,
  logger: Pick<Logger, 'info' | 'warn'>,
  secrets: string[],
): Promise<Telemetry | null> {
  const preloaded = isPreloaded()
  if (!preloaded && !isAskedFor(environment)) return null
  secrets.push(...[...headerSecrets(environment), ...addressSecrets(environment)].filter(({ length }) => length >= 4))
  const started = preloaded ? { shutdown: null } : await startSdk(environment, logger)
  if (started === null) return null
  const { trace } = await import('@opentelemetry/api')
  const { traceRun } = await import('../jobs/trace-run.ts')
  const flush = async () => {
    const provider = trace.getTracerProvider() as { getDelegate?: () => { forceFlush?: () => Promise<void> } }
    await provider.getDelegate?.().forceFlush?.()
  }
  const sending = new Set<Promise<void>>()
  const send = async (db: Database, runId: number): Promise<void> => {
    let away = false
    const patiently = async () => {
      const flushing = flush().catch((error: unknown) => {
        away = true
        const { message } = error as { message?: string }
        logger.warn({ error: message ?? String(error) }, 'telemetry_trouble')
      })
      sending.add(flushing)
      void flushing.finally(() => sending.delete(flushing))
      // A collector that is away is waited for once: what it does not take of this trace is lost.
      if (away) return
      const late = delay(closingMs, true, { ref: false })
      away ||= (await Promise.race([flushing, late])) === true
    }
    const id = await traceRun(db, runId, ownVersion(), patiently)
    if (id !== null) logger.info({ run_id: runId, trace_id: id }, 'run_traced')
  }
  return {
    runEnded: (db, runId) =>
      send(db, runId).catch((error: Error) => logger.warn({ run_id: runId, error: error.message }, 'run_not_traced')),
    close: async () => {
      const end = started.shutdown === null ? Promise.all(sending) : started.shutdown()
      await Promise.race([end.catch(() => {}), delay(closingMs, undefined, { ref: false })])
    },
  }
}

/** Whether the environment asks for traces, and the library that sends them is installed. */
export async function tracing({
  environment,
}: Pick<Cli, 'environment'>): Promise<'not asked for' | 'installed' | 'missing'> {
  if (isPreloaded()) return 'installed'
  if (!isAskedFor(environment)) return 'not asked for'
  return (await loadSdk()) instanceof Error ? 'missing' : 'installed'
}

function isPreloaded(): boolean {
  return (globalThis as Record<symbol, { trace?: unknown } | undefined>)[registry]?.trace !== undefined
}

/** @returns the error, where the library is not installed. */
async function loadSdk(): Promise<typeof import('@opentelemetry/sdk-node') | Error> {
  return await import('@opentelemetry/sdk-node').catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    return error as Error
  })
}

function isAskedFor(environment: Cli['environment']): boolean {
  const given = (name: string) => (environment[name] ?? '').trim()
  if (given('OTEL_SDK_DISABLED').toLowerCase() === 'true') return false
  const exporters = given('OTEL_TRACES_EXPORTER')
  if (exporters !== '') return !exporters.split(',').some((name) => name.trim() === 'none')
  return given('OTEL_EXPORTER_OTLP_ENDPOINT') !== '' || given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== ''
}

async function startSdk(
  environment: Cli['environment'],
  logger: Pick<Logger, 'warn'>,
): Promise<{ shutdown: () => Promise<void> } | null> {
  const library = await loadSdk()
  if (library instanceof Error) {
    logger.warn({ error: library.message, remedy: `npm install ${sdk}` }, 'telemetry_not_installed')
    return null
  }
  const { diag, DiagLogLevel } = await import('@opentelemetry/api')
  const isNamed =
    (environment.OTEL_SERVICE_NAME ?? '') !== '' || /\bservice\.name=/.test(environment.OTEL_RESOURCE_ATTRIBUTES ?? '')
  // Metrics are at /metrics, and the log is on standard error: nothing of either goes this way.
  const node = new library.NodeSDK({
    ...(!isNamed && { serviceName: 'nightferry' }),
    metricReaders: [],
    logRecordProcessors: [],
  })
  // After the library, which would write on standard output, where JSON may be expected.
  const tell = (...said: unknown[]) => logger.warn({ error: said.map(String).join(' ') }, 'telemetry_trouble')
  const silent = () => {}
  diag.setLogger(
    { error: tell, warn: tell, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  node.start()
  return { shutdown: () => node.shutdown() }
}

/** Keys that the headers for a collector contain. */
function headerSecrets(environment: Cli['environment']): string[] {
  return ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']
    .flatMap((name) => (environment[name] ?? '').split(','))
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim())
    .flatMap((value) => [value, percentDecoded(value)])
}

/** Passwords in the addresses of collectors. An address that cannot be read is shown by the library: it is a secret. */
function addressSecrets(environment: Cli['environment']): string[] {
  return ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']
    .map((name) => (environment[name] ?? '').trim())
    .flatMap((address) => (URL.canParse(address) ? [new URL(address).password] : [address]))
    .flatMap((secret) => [secret, percentDecoded(secret)])
}
