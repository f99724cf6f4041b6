import { adoptTask } from '../../pipeline/actions/adopt-task.ts'
import { isId } from '../../pipeline/streams/rules/row-content.ts'
import { actingUser } from '../acting-user.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { counted, readable } from '../show/readable.ts'
import { withIdleFerry } from '../with-idle-ferry.ts'

/** `nightferry adopt <submission> <correlation id>`: says which task an uncertain submission became. */
export async function adopt(
  cli: Cli,
  submissionId: number,
  correlationId: string,
  options: CommonOptions,
): Promise<ExitCode> {
  if (!isId(correlationId)) {
    throw new UsageError(`'${correlationId}' is no correlation id; it looks like 7f0c2f6e-3b7e-4a57-9d0b-1f2f3c4d5e6f`)
  }
  return await withIdleFerry(cli, options, async (deps) => {
    const adopted = await adoptTask(deps, submissionId, correlationId, actingUser(cli))
    if (options.json) printJson(cli.stdout, adopted)
    else {
      const { kind, correlation_id, task_status, rows } = adopted
      printLine(
        cli.stdout,
        readable(
          `Submission ${submissionId} (${kind}, ${counted(rows, 'row')}) is task ${correlation_id}, which is ${task_status}. Its outcomes are read from there.`,
        ),
      )
    }
    return exitCodes.well
  })
}
