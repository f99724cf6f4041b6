import type { Sandbox } from '../running-sandbox.ts'
import type { Operation } from '../server/operation.ts'
import { applicationChangeOperations } from './application-change-operations.ts'
import { chaosOperations } from './chaos-operations.ts'
import { clockOperations } from './clock-operations.ts'
import { deliveryOperations } from './delivery-operations.ts'
import { logOperations } from './log-operations.ts'
import { reportOperations } from './report-operations.ts'
import { webhookAddressOperations } from './webhook-address-operations.ts'
import { webhookOperations } from './webhook-operations.ts'

/** What the real service has a web application for, and what only a sandbox has. None of it is in the specification. */
export function administrationOperations(sandbox: Sandbox): Operation[] {
  return [
    ...applicationChangeOperations(sandbox),
    ...reportOperations(sandbox),
    ...clockOperations(sandbox),
    ...chaosOperations(sandbox),
    ...logOperations(sandbox),
    ...webhookOperations(sandbox),
    ...deliveryOperations(sandbox),
    ...webhookAddressOperations(sandbox),
  ]
}
