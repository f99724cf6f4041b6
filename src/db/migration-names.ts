/**
 * Every migration by its file name, in order. Apart from what they do: a verb that only looks compares the names, and
 * need not load them.
 */
export const migrationNames = [
  '0001-ledger',
  '0002-calculators',
  '0003-extraction',
  '0004-actions',
  '0005-reference',
  '0006-planning',
  '0007-sending',
  '0008-outcomes',
  '0009-extraction-speed',
  '0010-differences',
  '0011-pull-speed',
  '0012-documents',
  '0013-history',
  '0014-readers',
  '0015-destinations',
  '0016-not-renewed',
  '0017-waiting',
  '0018-reading',
  '0021-comparisons',
  '0022-own-database',
  '0023-held-rows',
  '0024-ended-submissions',
  '0025-standing-differences',
  '0026-held-properties',
  '0027-notifications',
  '0028-jobs',
  '0030-webhooks',
  '0032-housekeeping',
  '0033-deadlines',
  '0035-content-bytes',
  '0037-notification-destinations',
  '0038-facts-of-requests',
] as const
export type MigrationName = (typeof migrationNames)[number]
