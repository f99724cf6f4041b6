import type { CalculatorsSchema, NotRenewedSchema } from './calculator-tables.ts'
import type {
  DifferencesView,
  InputComparisonTable,
  InputDifferencesView,
  InputDifferenceTable,
  RepairHeldTable,
  RowComparisonTable,
  RowDifferenceTable,
} from './difference-tables.ts'
import type { HistorySchema } from './history-tables.ts'
import type {
  AcceptanceTable,
  HeldPropertyTable,
  JudgingBasisTable,
  LedgerView,
  LeftBehindTable,
  MappingChangeTable,
  MappingTable,
  NullCursorRowTable,
  RowFindingTable,
  SnapshotBucketTable,
  SnapshotLineTable,
  SourceRowTable,
  StreamSnapshotTable,
} from './row-tables.ts'
import type {
  ActionTable,
  GuardPlanTable,
  JobPauseTable,
  JobRequestTable,
  JobScheduleTable,
  JobWaitingTable,
  NotificationMarkTable,
  NotificationTable,
  RowChangeTable,
  RunStepTable,
  RunStreamTable,
  RunTable,
  RunTallyTable,
  StreamReadingTable,
  StreamWatermarkTable,
} from './run-tables.ts'
import type {
  DestinationKeyTable,
  DestinationTable,
  DocumentsView,
  DocumentTable,
  ReferenceChangeTable,
  ReferenceDataTable,
  ReferencePastTable,
  ReferenceVersionTable,
  ReferenceWithheldTable,
  SearchPageTable,
  SearchSeenDocumentTable,
  ServiceKeyTable,
  WebhookEventTable,
  WebhookReceiverTable,
  WebhookRefusalTable,
} from './service-tables.ts'
import type {
  BatchSizeTable,
  CandidateRowTable,
  CandidateTable,
  EndedSubmissionTable,
  KindSweepTable,
  StagedOutcomeTable,
  SubmissionPayloadTable,
  SubmissionReleaseTable,
  SubmissionRowTable,
  SubmissionTable,
} from './submission-tables.ts'
import type { PilotHotelTable, PilotTable, SuspendedHotelTable } from './suspension-tables.ts'

/** Every table of the schema `nightferry`, by name. */
export type Schema = CalculatorsSchema &
  HistorySchema &
  NotRenewedSchema & {
    run: RunTable
    run_stream: RunStreamTable
    job_pause: JobPauseTable
    job_request: JobRequestTable
    job_schedule: JobScheduleTable
    job_waiting: JobWaitingTable
    suspended_hotel: SuspendedHotelTable
    pilot: PilotTable
    pilot_hotel: PilotHotelTable
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
    candidate_row: CandidateRowTable
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
