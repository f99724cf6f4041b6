import type { Contract } from '../../exchange/contract.ts'
import { judgeValue } from '../processing/judge-value.ts'
import { RequestRefused } from '../request-refused.ts'
import type { JsonObject } from '../requests/read-json.ts'
import { inTransaction, type Sandbox } from '../running-sandbox.ts'
import { recordApplicationEvent } from '../webhooks/record-event.ts'
import { type Application, type ApplicationStatus, applicationStatuses, statusNamed } from './application.ts'

export type SentAnswer = { dataPointId: string; answer: JsonObject }

/**
 * Moves the application to the status with this name. Every transition is an event, wherever it originates; the status
 * that it has already is none. Spec gap: which moves are allowed is not shown, so all are, docs/spec-gaps.md.
 * @throws {RequestRefused} 400 for a name that is none of the statuses.
 */
export async function changeStatus(sandbox: Sandbox, application: Application, name: string): Promise<Application> {
  const status = readStatus(sandbox.contract, name)
  const { id, profileId } = application
  await inTransaction(sandbox.pool, async (client) => {
    const moved = await client.query(
      'update sandbox.application set status = $2 where id = $1 and status <> $2 returning 1',
      [id, status],
    )
    if (moved.rows.length === 0) return
    await recordApplicationEvent(client, sandbox, {
      applicationId: id,
      profileId,
      change: 'status',
      status: sandbox.contract.names.application[status],
    })
  })
  return { ...application, status }
}

/**
 * Writes answers, each in the place of an earlier one to the same data point; the others stay. Nothing is written if
 * one of them is not accepted, and answers that are the same already are no change.
 * @throws {RequestRefused} 400 for an unknown data point or a value that it does not take.
 */
export async function changeAnswers(
  sandbox: Sandbox,
  application: Application,
  sent: readonly SentAnswer[],
): Promise<void> {
  const { id, profileId } = application
  const answers = readAnswers(sandbox, sent)
  await inTransaction(sandbox.pool, async (client) => {
    await client.query('select 1 from sandbox.application where id = $1 for update', [id])
    const changed = await client.query(
      `insert into sandbox.application_answer as kept (application_id, data_point_id, values)
       select $1::uuid, * from unnest($2::uuid[], $3::jsonb[])
       on conflict (application_id, data_point_id) do update set values = excluded.values
         where kept.values is distinct from excluded.values
       returning 1`,
      [id, [...answers.keys()], [...answers.values()].map((values) => JSON.stringify(values))],
    )
    if (changed.rows.length === 0) return
    await recordApplicationEvent(client, sandbox, { applicationId: id, profileId, change: 'answers', status: null })
  })
}

function readStatus(contract: Contract, name: string): ApplicationStatus {
  const status = statusNamed(contract, name)
  if (status) return status
  const known = applicationStatuses.map((one) => contract.names.application[one])
  const message = `"${name}" is not a status of an application; these are: ${known.join(', ')}.`
  throw new RequestRefused(400, 'application_status_unknown', message)
}

/** Values by data point; of two answers to the same one the later counts. */
function readAnswers({ contract, world }: Sandbox, sent: readonly SentAnswer[]): Map<string, unknown[]> {
  const answers = new Map<string, unknown[]>()
  for (const { dataPointId, answer } of sent) {
    const point = world.dataPoints.get(dataPointId)
    if (!point) {
      throw new RequestRefused(400, 'data_point_not_found', `There is no data point with the id "${dataPointId}".`)
    }
    const { value, failure } = judgeValue(contract, point, answer)
    if (failure) throw new RequestRefused(400, failure.reason, failure.message)
    answers.set(point.id, value)
  }
  return answers
}
