import type { Command } from 'commander'
import { type Cli, type ExitCode, exitCodes } from '../cli.ts'
import { completionScript, type Shell } from '../completion-script.ts'

/** `nightferry completion <shell>`: prints the script by which a shell completes the command line. */
export function completion(cli: Cli, program: Command, shell: Shell): ExitCode {
  cli.stdout.write(completionScript(program, shell))
  return exitCodes.well
}
