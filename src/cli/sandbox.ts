import { startSandbox } from '../sandbox/start-sandbox.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  printJson,
  printLine,
  untilInterrupted,
} from './cli.ts'
import { createLogger } from './log.ts'
import { openEmbedded } from './open-embedded.ts'
import { readConfig, readContract } from './read-config.ts'

export type SandboxOptions = CommonOptions & {
  port: number
  seed: number
  companies: number
  database: string
  pageSize?: number
}

/** `nightferry sandbox`: the service itself, for development, on loopback, until it is interrupted. */
export async function sandbox(cli: Cli, options: SandboxOptions): Promise<ExitCode> {
  const config = readConfig(cli, options)
  const contract = readContract(cli, config)
  const cluster = await openEmbedded(cli, config)
  try {
    await cluster.ensureDatabase(options.database)
    const service = await startSandbox({
      databaseUrl: cluster.url(options.database),
      contract,
      port: options.port,
      seed: options.seed,
      companies: options.companies,
      ...(options.pageSize !== undefined && { pageSize: options.pageSize }),
      logger: createLogger(cli.stderr, config.log.level === 'info' ? 'warn' : config.log.level, []),
    })
    if (options.json) printJson(cli.stdout, { url: service.url })
    else {
      printLine(cli.stdout, `The sandbox answers at ${service.url}; the key is demo-key. Ctrl-C ends it.`)
      printLine(cli.stdout, `Try: curl -H 'Authorization: demo-key' ${service.url}/api/v1/unit-types`)
    }
    try {
      await untilInterrupted(cli)
    } finally {
      await service.close()
    }
    return exitCodes.well
  } finally {
    await cluster.release()
  }
}
