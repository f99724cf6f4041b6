import type { Bench, TaskRun } from '../bench.ts'
import { nobody } from '../evidence/hotel.ts'
import { type Searches, searches, searchNames } from '../evidence/searches.ts'
import { addressesIn, endOf, fileAddressIn, isTerminal } from '../evidence/task-run.ts'
import { differs, faultless, holds, judged, notObserved, type Observation } from '../observation.ts'
import type { Answer } from '../wire.ts'
import { at, isOpenRefusal, isTaken, isUuid, kindOf, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { type Check, given } from './check.ts'

/** A search must have been queued, end in a status that means work was done, and list its pages. */
export function judgeSearch(bench: Bench, run: TaskRun): Observation {
  if (!workWasDone(bench, run)) return differs(endOf(run))
  const pages = addressesIn(bench, run.task).length
  return judged(pages > 0, `${endOf(run)}, page addresses: ${pages}`)
}

/**
 * The same of a search whose body the specification does not show: that ours is refused breaks no rule. One that finds
 * nothing may list no page.
 */
export function judgeOpenSearch(bench: Bench, run: TaskRun): Observation {
  if (isOpenRefusal(run.submitted.status)) return notObserved(refusedAsOpen(run))
  if (!workWasDone(bench, run)) return differs(endOf(run))
  const listed = at(run.task, bench.contract.names.task.pageUrls)
  return judged(Array.isArray(listed), `${endOf(run)}, page addresses: ${addressesIn(bench, run.task).length}`)
}

export function refusedAsOpen(run: TaskRun): string {
  return `${endOf(run)}: what its body must hold is not shown`
}

/**
 * The searches that were taken, or not taken for no reason that is open: only the body of the calculator search is
 * shown, so all others may be refused for theirs.
 */
export function searchesToJudge({ runs }: Searches): TaskRun[] {
  return searchNames
    .filter((name) => name === 'calculators' || !isOpenRefusal(runs[name].submitted.status))
    .map((name) => runs[name])
}

/** A search that was not refused for its body, the first of these; the calculator search is the last resort. */
export function takenSearch({ runs }: Searches, name: keyof Searches['runs']): TaskRun {
  return isOpenRefusal(runs[name].submitted.status) ? runs.calculators : runs[name]
}

/**
 * A deprecated bulk request must still be answered; what it takes and what comes of it is not shown. Its task must end
 * at the one task endpoint, as all do.
 */
export function judgeOld(bench: Bench, run: TaskRun): Observation {
  const { status } = run.submitted
  if (isOpenRefusal(status)) return notObserved(refusedAsOpen(run))
  if (!isTaken(status)) return differs(endOf(run))
  if (run.correlationId === null) return notObserved(endOf(run))
  if (run.task === null) return differs(endOf(run))
  const isRead = failedRows(bench, run.task).some((row) => Object.values(row).includes(nobody))
  return workWasDone(bench, run) || isRead ? holds(endOf(run)) : notObserved(`${endOf(run)}: its body is not shown`)
}

/** Whether a request has ended in a status that means that work was done. */
export function workWasDone({ contract }: Pick<Bench, 'contract'>, run: TaskRun): boolean {
  const ends = workDone.map((status) => contract.taskStatuses[status])
  return run.task !== null && ends.includes(run.statuses.at(-1) ?? '')
}

/** The same as a check of one of the searches that every run sends. */
export function searchEnds(name: keyof Searches['runs']): Check {
  return given(searches, ({ runs }, bench) => judgeSearch(bench, runs[name]))
}

/**
 * An import must have been queued and have ended in one of these statuses, by the contract's keys, with or without a
 * file.
 */
export function judgeImport(
  bench: Bench,
  run: TaskRun,
  expected: { statuses: readonly (keyof Bench['contract']['taskStatuses'])[]; file: boolean },
): Observation {
  if (run.task === null) return differs(endOf(run))
  const wanted = expected.statuses.map((status) => bench.contract.taskStatuses[status])
  const hasFile = fileAddressIn(bench, run.task) !== null
  const seen = `${endOf(run)}, ${hasFile ? 'with a file' : 'without a file'}`
  return judged(wanted.includes(run.statuses.at(-1) ?? '') && hasFile === expected.file, seen)
}

/**
 * The same of an import without a file whose rows name `nobody`. That all of them end it in Error proves nothing unless
 * a failed row names it: whatever does not work at all ends so too.
 */
export function judgeNobody(bench: Bench, run: TaskRun): Observation {
  const end = judgeImport(bench, run, { statuses: ['error', ...workDone], file: false })
  const isNamed = failedRows(bench, run.task).some((row) => Object.values(row).includes(nobody))
  const failed = run.statuses.at(-1) === bench.contract.taskStatuses.error
  return end.verdict === 'holds' && failed && !isNamed
    ? notObserved(`${end.seen}, and no failed row names ${nobody}`)
    : end
}

/** Two imports are answered with 200 by the letter (specification, Endpoints); other requests with a correlation id. */
export function judgeStatus({ label, submitted: { status } }: TaskRun): Observation {
  return judged(status === 200, `${label} answered ${status}`)
}

/** What a request of good and bad rows may end in: work was done. Which of the two, the specification does not show. */
export const workDone = ['success', 'partialSuccess'] as const

/**
 * A request with more rows than are allowed: it is refused, or its task ends in Error. Which of the two, and with what
 * status, the specification does not show.
 */
export function judgeTooMany(bench: Bench, run: TaskRun): Observation {
  const { status, json } = run.submitted
  const code = textOf(at(json, bench.contract.names.error.errorCode))
  const failed = run.task !== null && run.statuses.at(-1) === bench.contract.taskStatuses.error
  const seen = failed ? endOf(run) : `${endOf(run)} ${code ?? ''}`.trim()
  return judged(failed || (status >= 400 && status < 500), `50,001 rows: ${seen}`)
}

/** An answer to a submission: the request was taken, at once, with a correlation id. */
export function judgeQueued(run: TaskRun): Observation {
  const { status, ms } = run.submitted
  if (!isTaken(status)) return differs(`${run.label} answered ${status}`)
  return judged(isUuid(run.correlationId), `${status} after ${Math.round(ms)} ms with a correlation id`)
}

/** An answer that took this long, and whose task had ended by then, was perhaps made after the work. */
const longAnswerMs = 250

/** The work must not be done while the client waits: the tasks may not all have ended when a long answer came. */
export function judgeWaiting(bench: Bench, runs: readonly TaskRun[]): Observation {
  const ended = runs.filter(({ statuses }) => isTerminal(bench, statuses[0]))
  const slow = ended.filter(({ submitted }) => submitted.ms >= longAnswerMs)
  return judged(
    ended.length < runs.length || slow.length < runs.length,
    `${ended.length} of them had ended at the first look`,
    `each answer took ${longAnswerMs} ms or longer, and its task had ended by then`,
  )
}

/** The specification does not show the names of the body: that it was accepted tells that they are right. */
export function judgeTaken({ submitted: { status } }: TaskRun): Observation {
  return judged(isTaken(status), `a body with our names answered ${status}`)
}

/** Each of these calls must have been answered with a status that says that it was taken. */
export function allAnswer(answers: readonly Pick<Answer, 'call' | 'status'>[], seen: string): Observation {
  const others = answers.filter(({ status }) => !isTaken(status))
  return faultless(
    others.map(({ call, status }) => `${call}: ${status}`),
    seen,
  )
}

/** A read of reference data must be answered 200 with a list. */
export function judgeList({ status, json }: Pick<Answer, 'status' | 'json'>): Observation {
  return judged(status === 200 && Array.isArray(json), `${status}: ${kindOf(json)}`)
}

/** Each of these requests must have been accepted. */
export function allAccepted(runs: readonly TaskRun[], seen: string): Observation {
  return allAnswer(
    runs.map(({ label, submitted }) => ({ call: label, status: submitted.status })),
    seen,
  )
}

/** What a task says of itself: its kind and request type as the contract spells them. */
export function namesOf(
  { contract }: Pick<Bench, 'contract'>,
  run: TaskRun,
): { kind: string | null; type: string | null } {
  const names = contract.names.task
  return { kind: textOf(run.task?.[names.taskKind]), type: textOf(run.task?.[names.requestType]) }
}

export function holdsAll(parts: readonly Observation[], seen: string): Observation {
  const wrong = parts.filter(({ verdict }) => verdict !== 'holds')
  return wrong.length === 0 ? holds(seen) : differs(wrong.map((part) => part.seen).join('; '))
}

/** The failed rows that a task names. */
export function failedRows({ contract }: Pick<Bench, 'contract'>, task: unknown): WireObject[] {
  const { error, rowErrors } = contract.names.task
  return objectsOf(at(task, error, rowErrors))
}
