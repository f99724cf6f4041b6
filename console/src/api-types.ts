// Written by `npm run generate`, from the description of the HTTP API.

export interface Problem {
  type: string;
  title: string;
  status: number;
  /** Stable; docs/errors.md lists them. */
  code: string;
  /** What happened, and what to do. */
  detail: string;
}

export interface LiveData {
  ok: boolean;
  why: string;
}

export interface ReadyData {
  ok: boolean;
  why: string;
}

export interface FreshData {
  fresh: boolean;
  since: string | null;
  why: string;
}

export type MetricsData = string;

export interface GetTonightData {
  now: string;
  /** The time zone in which the sentence and the console say the time. */
  time_zone: string;
  tone: "none" | "running" | "well" | "needs" | "failed";
  /** How the night stands, in one sentence. */
  sentence: string;
  fresh: boolean;
  fresh_since: string | null;
  fresh_words: string;
  fresh_within_ms: number;
  run: {
    run_id: number;
    job: string;
    trigger: string;
    state: string;
    step: string;
    verdict: string | null;
    failure: {
      code: string;
      message: string;
      [key: string]: unknown;
    } | null;
    started_at: string;
    finished_at: string | null;
    duration_ms: number | null;
    read: number | null;
    sent: number | null;
    accepted: number | null;
    rejected: number | null;
    invalid: number | null;
    parked: number | null;
    remarks: number | null;
    /** The name of the destination that the run was for; null: the one in use. */
    destination: string | null;
  } | null;
  /** What requests of runs under way wait for at the service, until when, and what comes then. */
  troubles: string[];
  remarks: string[];
  notices: string[];
  /** What the guard stopped runs over, of whichever job, and nobody has approved. */
  held: {
    run_id: number;
    stream: string;
    reason: string;
    known: number;
    new: number;
    changed: number;
    gone: number;
  }[];
  needs: {
    state: string;
    rows: number;
    hotels: number;
  }[];
  causes: {
    state: string;
    stream: string;
    code: string | null;
    reason: string | null;
    rows: number;
    hotels: number;
    first_at: string;
    last_at: string;
  }[];
  /** Some state has more causes than are given. */
  more_causes: boolean;
  /**
   * When the rows were counted; in a large ledger some seconds ago.
   */
  needs_as_of: string;
  key_refused: {
    since: string;
    code: string | null;
    reason: string | null;
  } | null;
  /** When a schedule starts the next run that carries data; null: none does. */
  next: string | null;
  schedule: string | null;
  paused: {
    paused_by: string;
    reason: string | null;
    [key: string]: unknown;
  } | null;
  /** How long half of the newest runs of its job took at most. */
  typical_ms: number | null;
  /** When the run under way, or the next one, would then end. */
  ends: string | null;
}

export interface ListNightsData {
  nights: {
    run_id: number;
    job: string;
    trigger: string;
    state: string;
    step: string;
    verdict: string | null;
    failure: {
      code: string;
      message: string;
      [key: string]: unknown;
    } | null;
    started_at: string;
    finished_at: string | null;
    duration_ms: number | null;
    read: number | null;
    sent: number | null;
    accepted: number | null;
    rejected: number | null;
    invalid: number | null;
    parked: number | null;
    remarks: number | null;
    /** The name of the destination that the run was for; null: the one in use. */
    destination: string | null;
  }[];
  next: number | null;
}

export interface GetRunLiveData {
  state: string;
  step: string;
  rows_read: number;
  rows_planned: number;
  rows_settled: number;
  requests: number;
  requests_settled: number;
  pages: number;
  pages_loaded: number;
  pages_failed: number;
  bytes: number;
  /** When it will end at this speed; null: nobody can tell, or it has ended. */
  ends_at: string | null;
  /** When it has to have ended. */
  deadline: string | null;
  streams: {
    stream: string;
    read: number;
    changed: number;
    pending: number | null;
    extracted_at: string;
  }[];
  submissions: {
    submission_id: number;
    kind: string;
    state: string;
    task_status: string | null;
    rows: number;
    [key: string]: unknown;
  }[];
  /** Of which of these there are more than `limit`. */
  more: {
    streams: boolean;
    submissions: boolean;
  };
}

export interface ListJobsData {
  jobs: Record<string, unknown>[];
  oldest_unaccepted_since: string | null;
}

export interface ListRunsData {
  runs: {
    run_id: number;
    job: string;
    trigger: string;
    scheduled_for: string;
    state: string;
    step: string;
    verdict: string | null;
    failure: {
      code: string;
      message: string;
      step: string;
    } | null;
    resumed: number;
    held: boolean;
    started_at: string;
    finished_at: string | null;
    /** The name of the destination that the run was for; null: the one in use. */
    destination: string | null;
    /** Why the run is not simply well. */
    remarks: string[];
  }[];
  next: number | null;
}

export interface GetRunData {
  run_id: number;
  job: string;
  trigger: string;
  scheduled_for: string;
  state: string;
  step: string;
  verdict: string | null;
  failure: {
    code: string;
    message: string;
    step: string;
  } | null;
  resumed: number;
  held: boolean;
  started_at: string;
  finished_at: string | null;
  /** The name of the destination that the run was for; null: the one in use. */
  destination: string | null;
  report: Record<string, unknown> | null;
}

export interface GetRunProgressData {
  run_id: number;
  job: string;
  trigger: string;
  scheduled_for: string;
  state: string;
  step: string;
  verdict: string | null;
  failure: {
    code: string;
    message: string;
    step: string;
  } | null;
  resumed: number;
  held: boolean;
  started_at: string;
  finished_at: string | null;
  rows_read: number;
  rows_planned: number;
  rows_settled: number;
  requests: number;
  requests_settled: number;
  pages: number;
  pages_loaded: number;
  pages_failed: number;
  /** When it will end at this speed; null: nobody can tell, or it has ended. */
  ends_at: string | null;
  /** When it has to have ended. */
  deadline: string | null;
}

export type FollowRunData = string;

export interface ListSubmissionsData {
  submissions: Record<string, unknown>[];
}

export type GetSubmissionBodyData = string;

export interface ListWavesData {
  waves: Record<string, unknown>[];
  parked: Record<string, unknown>[] | null;
  /** Later runs that took over requests which this one sent. */
  taken_over: {
    run_id: number;
    submissions: number;
  }[];
  /** There are more requests than `limit`. */
  more: boolean;
}

export interface ListWarningsData {
  warnings: {
    at: string | null;
    event: string;
    about: string;
    words: string | null;
  }[];
  /** There are more than `limit`. */
  more: boolean;
}

export type GetStatusData = Record<string, unknown>;

export interface ListRowsData {
  rows: {
    stream: string;
    partner_id: string;
    row_key: string;
    content: Record<string, unknown>;
    code: string | null;
    reason: string;
    at: string;
    submission_id: number | null;
    correlation_id: string | null;
    task_status: string | null;
    retry_asked: boolean;
    sent_again: boolean;
    held_run: number | null;
    /** Its hotel is suspended: nothing of it goes out before somebody resumes it. */
    suspended: boolean;
    [key: string]: unknown;
  }[];
  next: string | null;
}

export interface ListCausesData {
  causes: {
    stream: string;
    code: string | null;
    reason: string | null;
    rows: number;
    hotels: number;
    first_at: string;
    last_at: string;
  }[];
  /** There are more than `limit`. */
  more: boolean;
  /**
   * When the rows were counted; in a large ledger some seconds ago.
   */
  as_of: string;
}

export interface ListParkedData {
  groups: Record<string, unknown>[];
  total: Record<string, unknown>;
}

export type TraceHotelData = Record<string, unknown>;

export interface ListDifferencesData {
  inputs: Record<string, unknown>[];
  others: Record<string, unknown>[];
  /** There are more than `limit` inputs, or others. */
  more: boolean;
}

export interface ListDriftData {
  rows: Record<string, unknown>[];
  /** There are more than `limit`. */
  more: boolean;
}

export interface ListChangesData {
  changes: Record<string, unknown>[];
  /** There are more than `limit`. */
  more: boolean;
}

export interface ListHotelValuesData {
  values: {
    calculator_id: string;
    title: string | null;
    period_year: number;
    period_month: number | null;
    direction: string;
    variable_id: string;
    variable_name: string | null;
    value: string;
    not_renewed_since: string | null;
  }[];
  /** There are more than `limit`. */
  more: boolean;
}

export interface ListHotelDocumentsData {
  documents: {
    search: string;
    list: string;
    document_id: string;
    document: Record<string, unknown>;
    first_seen_at: string;
    changed_at: string;
    removed_at: string | null;
  }[];
  /** There are more than `limit`. */
  more: boolean;
}

export interface ListVariablesData {
  variables: {
    variable_id: string;
    name: string | null;
  }[];
  /** There are more than `limit`. */
  more: boolean;
  periods: {
    year: number;
    month: number | null;
  }[];
  /** There are older periods than are given. */
  more_periods: boolean;
  as_of: string;
}

export interface GetVariableData {
  values: number;
  hotels: number;
  /**
   * Values that are no number.
   */
  texts: number;
  /**
   * Hotels whose calculators hold different values of the input: they are in no figure.
   */
  differing: number;
  lowest: string | null;
  quarter: string | null;
  median: string | null;
  three_quarters: string | null;
  highest: string | null;
  sum: string | null;
  /**
   * Hotels with a number in this year and in the one before.
   */
  both_hotels: number;
  both_sum: string | null;
  both_before: string | null;
  missing: number;
  bars: {
    from: string;
    to: string;
    values: number;
  }[];
  highest_hotels: {
    partner_id: string | null;
    company_id: string;
    company_name: string | null;
    value: string;
    before: string | null;
  }[];
  lowest_hotels: {
    partner_id: string | null;
    company_id: string;
    company_name: string | null;
    value: string;
    before: string | null;
  }[];
  missing_hotels: string[];
  /** A query that shows the same values, to copy. */
  sql: string;
  /**
   * When it was computed. After five minutes it is computed again, at the next request.
   */
  as_of: string;
}

export interface ListSearchesData {
  searches: {
    kind: string;
    /** The name of its entry in `pull.searches`; empty for the calculator search. */
    name: string;
    submission_id: number;
    run_id: number;
    state: string;
    correlation_id: string | null;
    task_status: string | null;
    error_code: string | null;
    planned_at: string;
    settled_at: string | null;
    pages: number;
    loaded_pages: number;
    failed_pages: number;
    companies: number;
    calculators: number;
    documents: number;
    bytes: number;
    withheld: string | null;
  }[];
}

export interface GetServiceData {
  base_url: string | null;
  key: Record<string, unknown> | null;
  key_refused: {
    since: string;
    code: string | null;
    reason: string | null;
  } | null;
  clock: {
    low_ms: number;
    high_ms: number;
    measured_at: string;
  } | null;
  request_sizes: {
    kind: string;
    rows: number;
    updated_at: string;
    [key: string]: unknown;
  }[];
  tasks: {
    submission_id: number;
    run_id: number;
    kind: string;
    state: string;
    correlation_id: string | null;
    task_status: string | null;
    rows: number;
    attempts: number;
    error_code: string | null;
    error_message: string | null;
    attempted_at: string | null;
    settled_at: string | null;
    overdue_since: string | null;
  }[];
  webhooks: {
    configured: boolean;
    listening: boolean;
    since: string | null;
    warning: string | null;
    events: {
      topic: string | null;
      state: string;
      events: number;
      last_at: string;
      [key: string]: unknown;
    }[];
    refused: {
      reason: string;
      refused: number;
      last_at: string;
      [key: string]: unknown;
    }[];
  };
  reference_withheld: Record<string, unknown> | null;
  reference_documents: {
    kind: string;
    id: string;
    name: string;
    version: number;
    changed_at: string;
  }[];
  reference_changes: {
    version: number;
    kind: string;
    document_name: string | null;
    item: string | null;
    item_name: string | null;
    change: string;
  }[];
  /** Of which of these there are more than `limit`. */
  more: {
    tasks: boolean;
    reference_documents: boolean;
    reference_changes: boolean;
  };
}

export interface GetReferenceData {
  versions: Record<string, unknown>[];
  documents: Record<string, unknown>[];
  withheld: Record<string, unknown> | null;
}

export interface ListNotificationsData {
  notifications: Record<string, unknown>[];
  /** There are more than `limit`. */
  more: boolean;
}

export interface ListActionsData {
  actions: {
    action_id: number;
    verb: string;
    acted_by: string;
    host: string;
    acted_at: string;
    submission_id: number | null;
    correlation_id: string | null;
    rows: number;
    asked: Partial<Record<string, string>>;
    result: string | null;
  }[];
  /** There are more than `limit`. */
  more: boolean;
}

export type GetConfigurationData = Record<string, unknown>;

export interface ListSettingsData {
  settings: {
    path: string;
    /** As JSON. */
    value: string;
    from: "flag" | "environment" | "file" | "default";
    where: string | null;
  }[];
}

export interface PlanPayload {
  /**
   * Rows of each list.
   */
  rows?: number;
  /**
   * Bodies of requests.
   */
  bodies?: number;
  /**
   * false: answer 202 with the number of the plan, while it is being made.
   */
  wait?: boolean;
  /**
   * Give the plan of this number, or 202 while it is being made.
   */
  plan?: number;
}

export type PlanData = Record<string, unknown>;

export interface DiagnoseData {
  findings: {
    id: string;
    group: string;
    subject: string | null;
    level: "ok" | "advice" | "warning" | "error";
    what: string;
    why: string | null;
    todo: string | null;
    made: boolean;
  }[];
  examined_at: string;
}

export interface TriggerJobPayload {
  /**
   * Only these steps.
   */
  only?: string[];
  /**
   * Read and send only these streams.
   */
  streams?: string[];
  /**
   * Read rows again from this cursor or time on.
   */
  since?: string;
}

export interface TriggerJobData {
  run: number;
  joined: boolean;
  /** Streams that are read from before `since` on, because they were not read further yet. */
  older_watermarks: {
    stream: string;
    watermark: string;
  }[];
}

export interface PauseJobPayload {
  reason?: string;
}

export interface PauseJobData {
  paused: boolean;
}

export interface ResumeJobData {
  paused: boolean;
}

export interface ApproveRunPayload {
  /**
   * Say what would be done, and do nothing.
   */
  dryRun?: boolean;
}

export interface ApproveRunData {
  plans: Record<string, unknown>[];
}

export interface RetryRowsPayload {
  /**
   * Only rows of a stream.
   */
  stream?: string;
  /** Only rows of one hotel. One of which nothing was ever read is answered 404, `hotel_unknown`. */
  partnerId?: string;
  /**
   * Only rows with this text in the code or the reason.
   */
  reason?: string;
  /**
   * Only rows that are so since this moment.
   */
  since?: string;
  /** @default false */
  all?: boolean;
  /**
   * Say what would be done, and do nothing.
   */
  dryRun?: boolean;
}

export interface RetryRowsData {
  streams: {
    stream: string;
    rows: number;
    /**
     * Of the rows: those of suspended hotels, which wait until these are resumed.
     */
    suspended: number;
  }[];
}

export type AbandonSubmissionData = Record<string, unknown>;

export interface AdoptTaskPayload {
  correlationId: string;
}

export type AdoptTaskData = Record<string, unknown>;

export type CancelTaskData = Record<string, unknown>;

export interface AcceptRemovalsPayload {
  /**
   * Only rows with this text in the code or the reason.
   */
  reason?: string;
  /** Only rows of one hotel. One of which nothing was ever read is answered 404, `hotel_unknown`. */
  partnerId?: string;
  run?: number;
  /** @default false */
  all?: boolean;
  /**
   * Say what would be done, and do nothing.
   */
  dryRun?: boolean;
}

export interface AcceptRemovalsData {
  meant: Record<string, unknown>[];
  accepted: Record<string, unknown> | null;
}

export interface ResendRowsPayload {
  /**
   * Only rows of a stream.
   */
  stream?: string;
  /** Only rows of one hotel. One of which nothing was ever read is answered 404, `hotel_unknown`. */
  partnerId?: string;
  /**
   * Only rows that a request carried.
   */
  submission?: number;
  /**
   * Only rows accepted since this moment.
   */
  since?: string;
  /** Only rows that the last comparison found so. */
  difference?: "absent" | "different" | "any";
  /**
   * With `difference`: also rows that the service changed after they were sent.
   */
  alsoLater?: boolean;
  /**
   * Everything, where no filter is given.
   */
  all?: boolean;
  /**
   * Also if it is more than the guard lets through.
   */
  beyondGuard?: boolean;
  /**
   * Say what would be done, and do nothing.
   */
  dryRun?: boolean;
}

export interface ResendRowsData {
  total: number;
  streams: {
    stream: string;
    rows: number;
    /**
     * Of the rows: those of suspended hotels, which wait until these are resumed.
     */
    suspended: number;
    changed: number;
    known: number;
  }[];
  /** Some of them. */
  rows: Record<string, unknown>[];
  /**
   * Of them: rows that changed since they were accepted, or that the guard holds.
   */
  changed: number;
  /** Streams of which this is more than the guard lets through. */
  beyond_guard: string[];
  /**
   * Rows with that difference that stay as they are, unless `alsoLater` is true.
   */
  later: number;
  /**
   * Rows that were found so before and stay as they are: the newest comparison did not judge them.
   */
  unjudged: number;
  /**
   * Calculators with absent inputs that stay as they are: other inputs of theirs are different.
   */
  mixed: number;
  /**
   * Rows that stay as they are: no run sends their stream, which is not in the configuration.
   */
  unconfigured: number;
}

export interface RereadStreamPayload {
  /**
   * A cursor, a date or time, or a time ago such as 3d. Without it, new rows that the guard holds and that do not come are let go, also where fullEvery is never.
   */
  since?: string;
  /**
   * Say what would be done, and do nothing.
   */
  dryRun?: boolean;
}

export type RereadStreamData = Record<string, unknown>;

export interface ListRemovalsData {
  removals: {
    part: "value" | "property";
    company_id: string;
    calculator_id: string | null;
    direction: "input" | "output" | null;
    variable_id: string | null;
    property_id: string | null;
    ordinal: number | null;
    value: string;
    removed_at: string;
    run_id: number | null;
  }[];
  next: string | null;
}

export interface RestoreRemovalsPayload {
  /** Only rows of one hotel. One of which nothing was ever read is answered 404, `hotel_unknown`. */
  partnerId?: string;
  run?: number;
  since?: string;
  /**
   * Everything, where no filter is given.
   */
  all?: boolean;
  /**
   * Say what would be done, and do nothing.
   */
  dryRun?: boolean;
}

export interface RestoreRemovalsData {
  found: Record<string, unknown>;
  restored: Record<string, unknown> | null;
}

export interface ListSuspensionsData {
  pilot: {
    reason: string;
    started_by: string;
    started_at: string;
    ended_by: string | null;
    /** Ended, and on until the next run. */
    ended_at: string | null;
    hotels: {
      partner_id: string;
      joined_by: string;
      joined_at: string;
      from_next_run: boolean;
    }[];
    /**
     * Other hotels that are known.
     */
    others: number;
  } | null;
  suspended: {
    partner_id: string;
    reason: string;
    suspended_by: string;
    suspended_at: string;
    resumed_by: string | null;
    /** Resumed, and suspended until the next run. */
    resumed_at: string | null;
  }[];
  next: string | null;
}

export interface SuspendHotelPayload {
  /**
   * Why, for anyone who looks.
   */
  reason: string;
  /**
   * Also if nothing was ever read of it.
   */
  unknown?: boolean;
}

export interface SuspendHotelData {
  suspended: string[];
  /** Those that were suspended already. */
  already: string[];
  /** Those of which nothing was ever read. */
  unknown: string[];
  on_the_way: {
    partner_id: string;
    submission_id: number;
    stream: string;
  }[];
  /** Other hotels that are the same company, and are sent as ever. */
  same_company: {
    partner_id: string;
    company_id: string;
    other: string;
  }[];
}

export interface ResumeHotelPayload {
  /**
   * Also if nothing was ever read of it.
   */
  unknown?: boolean;
}

export interface ResumeHotelData {
  resumed: string[];
  /** Those that were not suspended. */
  already: string[];
  /** Those of which nothing was ever read. */
  unknown: string[];
}

export interface BeginPilotPayload {
  hotels: string[];
  /**
   * Why, for anyone who looks.
   */
  reason: string;
  /**
   * Also if nothing was ever read of it.
   */
  unknown?: boolean;
}

export interface BeginPilotData {
  hotels: string[];
  /** Those of which nothing was ever read. */
  unknown: string[];
  /**
   * Other hotels with rows on their way, which go on.
   */
  on_the_way: number;
}

export interface EndPilotData {
  ended: boolean;
}

export type DescribeData = string;
