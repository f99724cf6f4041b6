import { Command } from 'commander'
import { type Cli, type ExitCode, fitTables, widthOf } from './cli.ts'
import { repeated } from './option-values.ts'
import { addActionVerbs } from './verb-groups/action-verbs.ts'
import { addBackupVerbs, addDeploymentVerbs } from './verb-groups/deployment-verbs.ts'
import { addDevelopmentVerbs, addNestedVerbs } from './verb-groups/development-verbs.ts'
import type { MakeVerb } from './verb-groups/make-verb.ts'
import { addFirstVerbs, addNightVerbs } from './verb-groups/night-verbs.ts'
import { addComparisonVerbs, addRowVerbs } from './verb-groups/row-verbs.ts'
import { addRunVerbs } from './verb-groups/run-verbs.ts'

/**
 * The command line: one verb per file, loaded when it is called, because all of them together take a second; each ends
 * with an exit code, which `done` is told.
 * @param args the command line after the program's name.
 */
export async function createProgram(
  cli: Cli,
  version: string,
  args: readonly string[],
  done: (code: ExitCode) => void,
): Promise<Command> {
  fitTables(() => widthOf(cli))
  // Verbs inherit it as they are made: without it, commander would end the process with a code of its own.
  const program = new Command('nightferry')
    .exitOverride()
    .configureOutput({ writeOut: (text) => cli.stdout.write(text), writeErr: (text) => cli.stderr.write(text) })
    .description('Carries what changed in a partner database to the Bulk Data Exchange Service, and the results back.')
    .version(version)
    .showHelpAfterError('(nightferry --help lists the verbs)')

  const verb: MakeVerb = (name, summary, details) =>
    program
      .command(name)
      .summary(summary)
      .description(details === undefined ? summary : `${summary}\n\n${details}`)
      .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
      .option('--set <setting=value>', 'override a setting, such as exchange.pollIntervalMs=5000; repeatable', repeated)
      .option('--json', 'print JSON instead of text')

  // In the order of the list of verbs.
  addFirstVerbs(program, cli, done)
  addNightVerbs(verb, cli, done)
  addRunVerbs(verb, cli, done)
  addRowVerbs(verb, cli, done)
  addActionVerbs(verb, cli, done)
  addBackupVerbs(verb, cli, done)
  addComparisonVerbs(verb, cli, done)
  addDeploymentVerbs(verb, cli, done)
  await addDevelopmentVerbs(program, verb, cli, args, done)
  addNestedVerbs(program, cli, done)
  return program
}
