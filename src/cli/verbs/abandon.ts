import { abandonSubmission } from '../../pipeline/actions/abandon-submission.ts'
import { searchKinds } from '../../pipeline/streams/kind-names.ts'
import { actingUser } from '../acting-user.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { counted, readable } from '../show/readable.ts'
import { withIdleFerry } from '../with-idle-ferry.ts'

/**
 * `nightferry abandon <submission>`: gives a submission up that waits for ever; its rows go out again with the next
 * run.
 */
export async function abandon(cli: Cli, submissionId: number, options: CommonOptions): Promise<ExitCode> {
  return await withIdleFerry(cli, options, async (deps) => {
    const abandoned = await abandonSubmission(deps, submissionId, actingUser(cli))
    if (options.json) {
      printJson(cli.stdout, abandoned)
      return exitCodes.well
    }
    const { kind, was, correlation_id, rows, sent } = abandoned
    printLine(cli.stdout, readable(`Submission ${submissionId} (${kind}, ${was}) is given up.`))
    if (searchKinds.includes(kind)) printLine(cli.stdout, 'The run searches again.')
    else if (sent) {
      printLine(cli.stdout, `What became of its ${counted(rows, 'row')} is unknown; the next run sends them again.`)
    } else printLine(cli.stdout, `Nothing of it was sent; its ${counted(rows, 'row')} can be planned again at once.`)
    if (correlation_id !== null) {
      printLine(
        cli.stdout,
        readable(`Its task ${correlation_id} may go on at the service, and nobody reads its end any more.`),
      )
    }
    return exitCodes.well
  })
}
