import { clockChecks } from './clock-checks.ts'
import { configurationChecks } from './configuration-checks.ts'
import { webhookChecks } from './delivery-checks.ts'
import { downloadChecks } from './download-checks.ts'
import { notificationChecks } from './notification-checks.ts'
import { ownDatabaseChecks } from './own-database-checks.ts'
import { partnerChecks } from './partner-checks.ts'
import { scheduleChecks } from './schedule-checks.ts'
import { serviceChecks } from './troubleshooting-checks.ts'
import type { Check } from './ward.ts'

/** Every check, in the order in which its findings are told. Another group joins here, and in `groups`. */
export const checks: readonly Check[] = [
  ...serviceChecks,
  ...configurationChecks,
  ...partnerChecks,
  ...ownDatabaseChecks,
  ...clockChecks,
  ...downloadChecks,
  ...webhookChecks,
  ...notificationChecks,
  ...scheduleChecks,
]
