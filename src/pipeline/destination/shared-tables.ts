/**
 * Tables that belong to no destination: what the partner has, what was done, and the queue of the run at work. Every
 * other table of the schema says what one destination took or showed, and moves out of the way when another is put to
 * use. A test compares this list with the schema, so that a new table cannot be forgotten.
 */
export const sharedTables: readonly string[] = [
  'action',
  'candidate',
  'destination',
  'destination_key',
  'ended_submission',
  'guard_plan',
  'judging_basis',
  'kind_sweep',
  'notification',
  'notification_mark',
  'null_cursor_row',
  'row_change',
  'row_finding',
  'run',
  'run_stream',
  'search_page',
  'service_key',
  'snapshot_bucket',
  'snapshot_line',
  'source_row',
  'staged_outcome',
  'stream_reading',
  'stream_snapshot',
  'stream_watermark',
  'submission',
  'submission_payload',
  'submission_release',
  'submission_row',
]
