import type { EntryId } from '../outline.ts'
import { answerChecks } from './answer-checks.ts'
import { authenticationChecks } from './authentication-checks.ts'
import type { Check } from './check.ts'
import { endpointChecks } from './endpoint-checks.ts'
import { envelopeChecks } from './envelope-checks.ts'
import { errorChecks } from './error-checks.ts'
import { importChecks } from './import-checks.ts'
import { limitChecks } from './limit-checks.ts'
import { pageChecks } from './page-checks.ts'
import { processingChecks } from './processing-checks.ts'
import { serviceChecks } from './service-checks.ts'
import { signatureChecks } from './signature-checks.ts'
import { stateChecks } from './state-checks.ts'
import { taskChecks } from './task-checks.ts'
import { topicChecks } from './topic-checks.ts'
import { versionChecks } from './version-checks.ts'
import { webhookChecks } from './webhook-checks.ts'

/** A check for every statement of the outline; one that is missing does not compile. */
export const allChecks: Readonly<Record<EntryId, Check>> = {
  ...serviceChecks,
  ...processingChecks,
  ...taskChecks,
  ...importChecks,
  ...answerChecks,
  ...pageChecks,
  ...webhookChecks,
  ...stateChecks,
  ...endpointChecks,
  ...authenticationChecks,
  ...topicChecks,
  ...envelopeChecks,
  ...signatureChecks,
  ...errorChecks,
  ...limitChecks,
  ...versionChecks,
}

/** Checks that set the sandbox's clock forward by hours and more, or look back: after all others, in this order. */
const late: readonly EntryId[] = [
  'delivery/ladder',
  'delivery/after-sixth',
  'delivery/guarantee',
  'limits/attempts',
  'envelope/id',
  'delivery/log',
  'limits/log-retention',
  // Over every refusal that came by.
  'errors/fields',
]

/** The checks in the order in which they are run. */
export function checksInOrder(ids: readonly EntryId[]): [EntryId, Check][] {
  const early = ids.filter((id) => !late.includes(id))
  return [...early, ...late.filter((id) => ids.includes(id))].map((id) => [id, allChecks[id]])
}
