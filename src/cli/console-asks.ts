import type { Config } from '../config/schema.ts'
import { settingsInForce } from '../config/setting-origins.ts'
import type { HttpContext } from '../http/route.ts'
import type { Cli, CommonOptions } from './cli.ts'
import { configFileOf } from './read-config.ts'

/** What the HTTP API lets the command line look at: the doctor's checks, and where each setting comes from. */
export function consoleAsks(cli: Cli, options: CommonOptions, config: Config): HttpContext['asks'] {
  return {
    diagnose: async () => {
      const { diagnosis } = await import('./verbs/doctor.ts')
      const { openWard } = await import('./open-ward.ts')
      await using ward = openWard(cli, options)
      return await diagnosis(cli, ward)
    },
    settings: () =>
      settingsInForce(config, {
        file: configFileOf(cli, options),
        environment: cli.environment,
        overrides: options.set ?? [],
      }),
  }
}
