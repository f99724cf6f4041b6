import { stringify } from 'yaml'
import { showableConfig } from '../../config/show-config.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson } from '../cli.ts'
import { readConfig } from '../read-config.ts'

/** `nightferry config print`: the configuration in force, whatever it came from, with secrets hidden. */
export function configPrint(cli: Cli, options: CommonOptions): ExitCode {
  const config = showableConfig(readConfig(cli, options))
  if (options.json) printJson(cli.stdout, config)
  else cli.stdout.write(stringify(config))
  return exitCodes.well
}
