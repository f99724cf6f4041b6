import { readFile, stat } from 'node:fs/promises'
import { requireSettings } from '../config/require-settings.ts'
import { needsGroup } from '../pipeline/push/generic/needs-group.ts'
import { error, ok } from './finding.ts'
import {
  judgeAssumptions,
  judgeFile,
  judgeOrder,
  judgeTracing,
  problemsOf,
  secretsIn,
  secretVariables,
} from './judge-configuration.ts'
import { type Check, on } from './ward.ts'

export const configurationChecks: readonly Check[] = [
  {
    id: 'configuration',
    group: 'configuration',
    why: 'No verb but this one works with a configuration that cannot be read.',
    run: async (ward) =>
      await ward
        .config()
        .then(
          () => [
            ok(
              ward.configFile === null
                ? 'Read from the environment alone; there is no file'
                : `Read from ${ward.configFile}`,
            ),
          ],
          problemsOf,
        ),
  },
  {
    id: 'settings',
    group: 'configuration',
    why: 'Without these a run does not begin.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const contract = await on(ward.contract, 'contract')
      try {
        requireSettings(config, needsGroup(contract, config.streams))
        return [ok(`Everything that a run needs is set, for ${Object.keys(config.streams).length} streams`)]
      } catch (missing) {
        return problemsOf(missing)
      }
    },
  },
  {
    id: 'serving',
    group: 'configuration',
    why: 'nightferry serve refuses to start with these, so no night begins by itself.',
    run: async (ward) => {
      await on(ward.config, 'configuration')
      await on(ward.contract, 'contract')
      return await ward.serving().then(() => [ok('nightferry serve would start with these settings')], problemsOf)
    },
  },
  {
    id: 'tracing',
    group: 'configuration',
    why: 'Variables of OpenTelemetry ask for traces of runs, and nothing would send them.',
    run: async (ward) => judgeTracing(await ward.tracing()),
  },
  {
    id: 'requirements',
    group: 'configuration',
    why: 'The service finds a company by your id only after its mapping was accepted. A row that is sent before is rejected.',
    run: async (ward) => judgeOrder(await on(ward.config, 'configuration')),
  },
  {
    id: 'secrets_in_file',
    group: 'configuration',
    why: 'Anyone who can read the key can act as your profile.',
    run: async ({ configFile, environment, config }) => {
      await on(config, 'configuration')
      const named = secretVariables().flatMap((name) => environment[`${name}_FILE`] || [])
      const files = new Set([...(configFile === null ? [] : [configFile]), ...named])
      const judged = [...files].map(async (file) => {
        const { mode } = await stat(file)
        const secrets = file === configFile ? secretsIn(await readFile(file, 'utf8')) : ['a secret']
        return judgeFile(file, mode, secrets)
      })
      const found = (await Promise.all(judged)).flat()
      return found.length > 0 ? found : [ok('There is no file that could hold secrets')]
    },
  },
  {
    id: 'contract',
    group: 'configuration',
    why: 'The specification leaves names on the wire open. Where a deployment spells one otherwise, requests are refused or answers are not understood.',
    run: async (ward) => {
      await on(ward.config, 'configuration')
      return await ward
        .contract()
        .then(judgeAssumptions, (wrong: Error) => [
          error(wrong.message, 'fix the file that exchange.contract names, or leave the setting out'),
        ])
    },
  },
]
