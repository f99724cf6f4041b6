import { type Attributes, type Context, context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Database } from '../db/database.ts'
import { type RequestTimes, runTimeline, type StepTime } from '../db/runs/run-progress.ts'
import type { SubmissionState } from '../db/tables/submission-tables.ts'

/** The most requests of a run that get spans: a trace of more is too large to look at. */
const mostRequests = 2_000

/** So many requests, of up to five spans each, are sent at a time: exporters drop what exceeds their queue of 2,048. */
const atOnce = 200

/**
 * Draws a run that has ended as one trace, from the times in the tables: the run, its steps, its requests, and of each
 * request the sending, the service's work, the loading of pages and the settlement. So the trace is whole whichever
 * processes did the work, and however often one of them died. It holds names, ids, counts and times, and nothing of a
 * row.
 * @param flush sends what was drawn so far.
 * @returns the id of the trace; null where none is recorded.
 */
export async function traceRun(
  db: Database,
  runId: number,
  version: string,
  flush: () => Promise<void>,
): Promise<string | null> {
  const { run, steps, requests, requests_in_all } = await runTimeline(db, runId, mostRequests)
  const tracer = trace.getTracer('nightferry', version)
  const draw = ({ name, from, to, attributes = {}, kind = SpanKind.INTERNAL, error }: Drawn, parent: Context): Span => {
    const span = tracer.startSpan(name, { startTime: from, kind, attributes: known(attributes) }, parent)
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error })
    span.end(to < from ? from : to)
    return span
  }
  const within = (span: Span) => trace.setSpan(context.active(), span)
  const whole = draw(
    {
      name: `run ${run.job}`,
      from: run.started_at,
      to: run.finished_at,
      attributes: {
        'nightferry.run.id': run.run_id,
        'nightferry.run.trigger': run.trigger,
        'nightferry.run.verdict': run.verdict,
        'nightferry.run.resumed': run.resumed,
        'nightferry.run.requests': requests_in_all,
        'nightferry.destination': run.destination,
      },
      ...(run.failure !== null && { error: run.failure.code }),
    },
    context.active(),
  )
  const drawnSteps = steps.map((step) => ({
    step,
    span: draw({ name: `step ${step.step}`, from: step.began_at, to: step.ended_at }, within(whole)),
  }))
  for (const [index, request] of requests.entries()) {
    const parent = drawnSteps.findLast(({ step }) => holds(step, request))?.span ?? whole
    const span = draw(requestSpan(request), within(parent))
    for (const part of partsOf(request)) draw(part, within(span))
    if (index % atOnce === atOnce - 1) await flush()
  }
  await flush()
  return whole.isRecording() || whole.spanContext().traceFlags === 1 ? whole.spanContext().traceId : null
}

/** A span that has ended. `error`: a stable code. */
type Drawn = {
  name: string
  from: Date
  to: Date
  attributes?: Record<string, string | number | null>
  kind?: SpanKind
  error?: string
}

function known(attributes: Record<string, string | number | null>): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(([, value]) => value !== null && value !== ''),
  ) as Attributes
}

function holds({ began_at, ended_at }: StepTime, { planned_at }: RequestTimes): boolean {
  return began_at <= planned_at && planned_at <= ended_at
}

/** States in which a request did not do what it was for. */
const failedStates: readonly SubmissionState[] = ['refused', 'lost', 'abandoned', 'uncertain']

function requestSpan(request: RequestTimes): Drawn {
  const { kind, state, planned_at, attempted_at, accepted_at, terminal_at, settled_at, loaded_at } = request
  const moments = [planned_at, attempted_at, accepted_at, terminal_at, settled_at, loaded_at]
  const last = moments.reduce<Date>((latest, at) => (at !== null && at > latest ? at : latest), planned_at)
  const failed = failedStates.includes(state) || request.error_code !== null
  return {
    name: `request ${kind}`,
    from: planned_at,
    to: last,
    attributes: {
      'nightferry.request.id': request.submission_id,
      'nightferry.request.partition': request.partition,
      'nightferry.request.state': state,
      'nightferry.request.rows': request.row_count,
      'nightferry.request.bytes': request.payload_bytes,
      'nightferry.request.attempts': request.attempts,
      'nightferry.request.repeats': request.repeats,
      'nightferry.request.polls': request.polls,
      'nightferry.task.correlation_id': request.correlation_id,
      'nightferry.task.status': request.task_status,
    },
    ...(failed && { error: request.error_code ?? state }),
  }
}

/** What took the time of a request, as far as it got. */
function partsOf(request: RequestTimes): Drawn[] {
  const { attempted_at, accepted_at, terminal_at, settled_at, loaded_at, pages, page_bytes } = request
  const part = (name: string, from: Date | null, to: Date | null, more: Partial<Drawn> = {}): Drawn[] =>
    from === null || to === null ? [] : [{ name, from, to, ...more }]
  const counts = { 'nightferry.pages': pages, 'nightferry.bytes': page_bytes }
  return [
    ...part('send', attempted_at, accepted_at, { kind: SpanKind.CLIENT }),
    ...part('task of the service', accepted_at, terminal_at, { kind: SpanKind.CLIENT }),
    ...part('settle', terminal_at, settled_at),
    ...(pages === 0 ? [] : part('load pages', settled_at ?? terminal_at, loaded_at, { attributes: counts })),
  ]
}
