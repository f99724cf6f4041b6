import { Argument, type Command } from 'commander'
import type { Cli, CommonOptions, ExitCode } from '../cli.ts'
import { addConformanceOptions, repeated } from '../option-values.ts'
import type { Shell } from '../verbs/completion.ts'
import type { ConformanceOptions } from '../verbs/conformance.ts'
import type { ContractCheckOptions } from '../verbs/contract-check.ts'
import type { SandboxOptions } from '../verbs/sandbox.ts'
import type { MakeVerb } from './make-verb.ts'

/**
 * The verbs for those who develop against the service, and the shell's.
 * @param args the command line after the program's name.
 */
export async function addDevelopmentVerbs(
  program: Command,
  verb: MakeVerb,
  cli: Cli,
  args: readonly string[],
  done: (code: ExitCode) => void,
): Promise<void> {
  const service = verb('sandbox', 'run the service itself, for development, on loopback')
  // What its options may be is the sandbox's to say, and loading it takes as long as a quick verb.
  if (args.includes('sandbox') || args.includes('completion'))
    (await import('../sandbox-options.ts')).addSandboxOptions(service)
  service.action(async (options: SandboxOptions) =>
    done(await (await import('../verbs/sandbox.ts')).sandbox(cli, options)),
  )
  addConformanceOptions(
    verb('conformance', 'compare a deployment with the specification, statement by statement'),
  ).action(async (options: ConformanceOptions) =>
    done(await (await import('../verbs/conformance.ts')).conformance(cli, options)),
  )

  program
    .command('completion')
    .description('print the script by which a shell completes the command line')
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish'] satisfies Shell[]))
    .action(async (shell: Shell) => done((await import('../verbs/completion.ts')).completion(cli, program, shell)))
}

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
      done(await (await import('../verbs/contract-check.ts')).contractCheck(cli, options)),
    )

  const config = program.command('config').description('the configuration')
  config
    .command('print')
    .description('print the configuration in force, with secrets hidden')
    .option('--config <file>', 'configuration file (default: nightferry.yaml here, if there is one)')
    .option('--set <setting=value>', 'override a setting, such as exchange.pollIntervalMs=5000; repeatable', repeated)
    .option('--json', 'print JSON instead of YAML')
    .action(async (options: CommonOptions) =>
      done((await import('../verbs/config-print.ts')).configPrint(cli, options)),
    )
}
