import type {
  AcceptanceTable,
  HeldPropertyTable,
  LedgerView,
  LeftBehindTable,
  MappingChangeTable,
  MappingTable,
} from './acceptance.ts'
import type { ActionTable, RowChangeTable } from './action.ts'
import type { CalculatorsSchema } from './calculator-tables.ts'
import type { DestinationKeyTable, DestinationTable } from './destination-table.ts'
import type { DocumentsView, DocumentTable, SearchSeenDocumentTable } from './documents.ts'
import type { GuardPlanTable } from './guard-plan-table.ts'
import type { HistorySchema } from './history.ts'
import type { InputComparisonTable, InputDifferencesView, InputDifferenceTable } from './input-difference.ts'
import type { JobPauseTable, JobRequestTable, JobWaitingTable, RunStepTable, RunTallyTable } from './job-tables.ts'
import type { NotRenewedSchema } from './not-renewed.ts'
import type { NotificationMarkTable, NotificationTable } from './notification-tables.ts'
import type {
  BatchSizeTable,
  CandidateTable,
  EndedSubmissionTable,
  KindSweepTable,
  SubmissionReleaseTable,
} from './planning.ts'
import type { JudgingBasisTable, RowFindingTable } from './preflight-tables.ts'
import type {
  ReferenceChangeTable,
  ReferenceDataTable,
  ReferencePastTable,
  ReferenceVersionTable,
  ReferenceWithheldTable,
} from './reference-tables.ts'
import type { DifferencesView, RepairHeldTable, RowComparisonTable, RowDifferenceTable } from './row-difference.ts'
import type { RunStreamTable, RunTable, StreamReadingTable, StreamWatermarkTable } from './run-tables.ts'
import type { SearchPageTable } from './search-page-table.ts'
import type { ServiceKeyTable } from './service-key.ts'
import type { NullCursorRowTable, SnapshotBucketTable, SnapshotLineTable, StreamSnapshotTable } from './snapshot.ts'
import type { SourceRowTable } from './source-row.ts'
import type { StagedOutcomeTable, SubmissionPayloadTable, SubmissionRowTable, SubmissionTable } from './submission.ts'
import type { WebhookEventTable, WebhookReceiverTable, WebhookRefusalTable } from './webhook-tables.ts'

/** Every table of the schema `nightferry`, by name. */
export type Schema = CalculatorsSchema &
  HistorySchema &
  NotRenewedSchema & {
    run: RunTable
    run_stream: RunStreamTable
    job_pause: JobPauseTable
    job_request: JobRequestTable
    job_waiting: JobWaitingTable
    run_step: RunStepTable
    run_tally: RunTallyTable
    notification: NotificationTable
    notification_mark: NotificationMarkTable
    stream_watermark: StreamWatermarkTable
    stream_reading: StreamReadingTable
    stream_snapshot: StreamSnapshotTable
    snapshot_line: SnapshotLineTable
    snapshot_bucket: SnapshotBucketTable
    source_row: SourceRowTable
    acceptance: AcceptanceTable
    held_property: HeldPropertyTable
    ledger: LedgerView
    destination: DestinationTable
    destination_key: DestinationKeyTable
    null_cursor_row: NullCursorRowTable
    guard_plan: GuardPlanTable
    submission: SubmissionTable
    submission_payload: SubmissionPayloadTable
    submission_row: SubmissionRowTable
    staged_outcome: StagedOutcomeTable
    mapping: MappingTable
    mapping_change: MappingChangeTable
    left_behind: LeftBehindTable
    reference_data: ReferenceDataTable
    service_key: ServiceKeyTable
    reference_version: ReferenceVersionTable
    reference_change: ReferenceChangeTable
    reference_past: ReferencePastTable
    reference_withheld: ReferenceWithheldTable
    judging_basis: JudgingBasisTable
    row_finding: RowFindingTable
    search_page: SearchPageTable
    document: DocumentTable
    documents: DocumentsView
    search_seen_document: SearchSeenDocumentTable
    action: ActionTable
    row_change: RowChangeTable
    candidate: CandidateTable
    ended_submission: EndedSubmissionTable
    kind_sweep: KindSweepTable
    batch_size: BatchSizeTable
    submission_release: SubmissionReleaseTable
    input_comparison: InputComparisonTable
    row_comparison: RowComparisonTable
    row_difference: RowDifferenceTable
    repair_held: RepairHeldTable
    differences: DifferencesView
    input_difference: InputDifferenceTable
    input_differences: InputDifferencesView
    webhook_event: WebhookEventTable
    webhook_refusal: WebhookRefusalTable
    webhook_receiver: WebhookReceiverTable
  }
