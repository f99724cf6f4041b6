import type { Command } from 'commander'
import type { Cli, CommonOptions, ExitCode } from './cli.ts'
import { repeated } from './option-values.ts'
import type { ContractCheckOptions } from './verbs/contract-check.ts'

/** The verbs of two words. */
export function addNestedVerbs(program: Command, cli: Cli, done: (code: ExitCode) => void): void {
  const contract = program.command('contract').description('the names on the wire')
  contract
    .command('check')
    .summary('compare each name of the contract with an OpenAPI description of a deployment')
    .description(
      'compare each name of the contract with an OpenAPI description of a deployment\n\nIt ends with 3 if the description refutes a name. It lists what is refuted, and what it says of our assumptions.',
    )
    .requiredOption('--openapi <file or url>', 'the description, in JSON or YAML; no key is sent for it')
    .option('--all', 'also the names that the specification states or public clients use')
    .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
    .option('--set <setting=value>', 'override a setting, such as exchange.contract=mine.yaml; repeatable', repeated)
    .option('--json', 'print JSON instead of text')
    .action(async (options: ContractCheckOptions) =>
      done(await (await import('./verbs/contract-check.ts')).contractCheck(cli, options)),
    )

  const config = program.command('config').description('the configuration')
  config
    .command('print')
    .description('print the configuration in force, with secrets hidden')
    .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
    .option('--set <setting=value>', 'override a setting, such as exchange.pollIntervalMs=5000; repeatable', repeated)
    .option('--json', 'print JSON instead of YAML')
    .action(async (options: CommonOptions) => done((await import('./verbs/config-print.ts')).configPrint(cli, options)))
}
