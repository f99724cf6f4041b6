import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../config/load-config.ts'
import type { Config } from '../config/schema.ts'
import { type Contract, loadContract } from '../exchange/contract.ts'
import { checkKinds } from '../pipeline/push/check-kinds.ts'
import type { Cli, CommonOptions } from './cli.ts'

/** A file of the package's own config folder, from the sources and from the build alike. */
export function packagedConfig(name: string): string {
  return fileURLToPath(new URL(`../../config/${name}`, import.meta.url))
}

/** The configuration file that a verb was given: `--config`, else `nightferry.yaml` here, else none. */
export function configFileOf(cli: Pick<Cli, 'workingFolder'>, options: CommonOptions): string | null {
  const here = resolve(cli.workingFolder, 'nightferry.yaml')
  return options.config ? resolve(cli.workingFolder, options.config) : existsSync(here) ? here : null
}

/** Loads the configuration that a verb was given: its file, or the defaults. */
export function readConfig(cli: Cli, options: CommonOptions): Config {
  return loadConfig({
    file: configFileOf(cli, options),
    environment: cli.environment,
    overrides: options.set ?? [],
    addedStreams: (contract) =>
      Object.fromEntries(contractFrom(cli, contract).kinds.map(({ stream, requires }) => [stream, { requires }])),
  })
}

/** Loads the wire names: the configured file, else the one that comes with Nightferry. */
export function readContract(cli: Cli, { exchange }: Config): Contract {
  return contractFrom(cli, exchange.contract)
}

function contractFrom(cli: Cli, named: string | null): Contract {
  const file = named === null ? packagedConfig('contract.yaml') : resolve(cli.workingFolder, named)
  const contract = loadContract(file)
  checkKinds(file, contract)
  return contract
}
