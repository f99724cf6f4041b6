import { existsSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../config/load-config.ts'
import { type Config, isOurStream, streamNames } from '../config/schema.ts'
import type { RowFilter } from '../db/ledger/row-filter.ts'
import { type Contract, loadContract } from '../exchange/contract.ts'
import { given } from '../given.ts'
import { checkLookups } from '../pipeline/streams/check-lookups.ts'
import { checkKinds } from '../pipeline/streams/our-streams.ts'
import { type Cli, type CommonOptions, UsageError } from './cli.ts'
import type { FilterOptions } from './option-values.ts'

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
  const config = loadConfig({
    file: configFileOf(cli, options),
    environment: cli.environment,
    overrides: options.set ?? [],
    addedStreams: (contract) =>
      Object.fromEntries(contractFrom(cli, contract).kinds.map(({ stream, requires }) => [stream, { requires }])),
  })
  checkLookups(config, () => readContract(cli, config))
  return config
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

/**
 * What the options ask for.
 * @throws {UsageError} when there is no such stream.
 */
export function filterOf(cli: Cli, options: CommonOptions & FilterOptions): RowFilter {
  const { stream, partnerId, reason, since } = options
  if (stream !== undefined) requireStream(cli, options, stream)
  return given({ stream, partnerId, reason, since })
}

/**
 * Makes sure that a stream which a person names is one of ours, or one that the configuration reads.
 * @throws {UsageError} otherwise: a misspelt one would look as if all were well.
 */
export function requireStream(cli: Cli, options: CommonOptions, stream: string): void {
  if (isOurStream(stream)) return
  const added = Object.keys(readConfig(cli, options).streams).filter((name) => !isOurStream(name))
  if (added.includes(stream)) return
  throw new UsageError(`There is no stream ${stream}; there are ${[...streamNames, ...added].join(', ')}`)
}

/** The program's own main file, from the sources and from the build alike. */
export const mainFile = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../main.ts' : '../main.js', import.meta.url),
)

/** How a person in a folder calls this very program, and names a file of its config folder, on a command line. */
type Invocation = { program: string; config: (name: string) => string }

/**
 * A clone is called through its npm scripts, which start the Node.js that it brings, an installed package by its name.
 * From any other folder only whole paths are sure.
 */
export function invocationFrom(workingFolder: string): Invocation {
  const root = dirname(dirname(mainFile))
  const near = (name: string) => shellWord(relative(workingFolder, packagedConfig(name)))
  const far = (name: string) => shellWord(packagedConfig(name))
  if (!root.split(sep).includes('node_modules')) {
    if (root !== workingFolder) return { program: `${shellWord(process.execPath)} ${shellWord(mainFile)}`, config: far }
    return { program: mainFile.endsWith('.ts') ? 'npm run -s nightferry --' : 'node dist/main.js', config: near }
  }
  const project = root.slice(0, root.indexOf(`${sep}node_modules`))
  if (`${workingFolder}${sep}`.startsWith(`${project}${sep}`)) return { program: 'npx nightferry', config: near }
  return { program: root.includes(`${sep}_npx${sep}`) ? 'npx nightferry' : 'nightferry', config: far }
}

/** A word as a POSIX shell takes it. */
function shellWord(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
