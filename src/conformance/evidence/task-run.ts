import type { Endpoint } from '../../exchange/contract.ts'
import type { Bench, TaskRun } from '../bench.ts'
import { type Answer, NoAnswer } from '../wire.ts'
import { at, isObject, isTaken, isUuid, said, textOf } from '../wire-json.ts'

/** Sends a bulk request and looks at its task once, at once: how it begins is gone soon. */
export async function submit(
  bench: Bench,
  label: string,
  endpoint: Endpoint,
  body: unknown,
  options: { key?: string; look?: boolean; told?: boolean } = {},
): Promise<TaskRun> {
  const { contract, wire, now } = bench
  const startedAt = now()
  const key = options.key === undefined ? {} : { key: options.key }
  const submitted = await wire.call(endpoint, { body, ...key }).catch((error: unknown) => unanswered(error, endpoint))
  if (submitted.status !== 0) bench.note(isTaken(submitted.status) ? 'submitted' : 'error', submitted.json)
  bench.sentBody({ request: label, body, status: submitted.status })
  const id = textOf(at(submitted.json, contract.names.submitted.correlationId))
  const run: TaskRun = {
    label,
    submitted,
    correlationId: isTaken(submitted.status) && isUuid(id) ? id : null,
    statuses: [],
    last: null,
    task: null,
    startedAt,
    endedAt: null,
    strangeSince: null,
    looks: [],
  }
  if (options.told !== false) bench.told.push(run)
  if (options.look !== false) await look(bench, run, key)
  return run
}

/** Looks at every unfinished task at an interval, until all are terminal or the time for tasks is over. */
export async function finish(bench: Bench, runs: readonly TaskRun[], key?: string): Promise<void> {
  const until = bench.now() + bench.limits.taskMs
  const open = () => runs.filter((run) => isOpen(bench, run))
  while (open().length > 0 && bench.now() < until) {
    await bench.wait(bench.limits.pollMs)
    for (const run of open()) await look(bench, run, key === undefined ? {} : { key })
  }
}

/** Looks that a status is given which the specification does not name: it may pass, and it may be an end. */
const looksAtStrangers = 20

/**
 * Whether it is of use to wait for the end of a task. Where one status that nobody knows stayed, no other task waits
 * for it.
 */
export function isOpen(bench: Bench, run: TaskRun): boolean {
  if (run.correlationId === null || run.task !== null) return false
  const status = run.statuses.at(-1)
  if (run.strangeSince === null || status === undefined) return true
  if (bench.lastingStrangers.has(status)) return false
  if (bench.now() - run.strangeSince < looksAtStrangers * bench.limits.pollMs) return true
  bench.lastingStrangers.add(status)
  return false
}

/** Whether the specification names a status. */
export function isKnownStatus({ contract }: Pick<Bench, 'contract'>, status: string): boolean {
  return Object.values(contract.taskStatuses).includes(status)
}

/** Sends a request and waits for its end. */
export async function runTask(
  bench: Bench,
  label: string,
  endpoint: Endpoint,
  body: unknown,
  options: { key?: string; told?: boolean } = {},
): Promise<TaskRun> {
  const run = await submit(bench, label, endpoint, body, options)
  await finish(bench, [run], options.key)
  return run
}

export function isTerminal({ contract }: Pick<Bench, 'contract'>, status: unknown): boolean {
  const { success, partialSuccess, error, cancelled } = contract.taskStatuses
  return [success, partialSuccess, error, cancelled].some((terminal) => terminal === status)
}

async function look(bench: Bench, run: TaskRun, key: { key?: string }): Promise<void> {
  if (run.correlationId === null) return
  const { contract, wire } = bench
  run.looks.push(bench.now())
  const { task } = contract.endpoints
  const answer = await wire
    .call(task, { id: run.correlationId, ...key })
    .catch((error: unknown) => unanswered(error, task))
  run.last = answer
  if (answer.status !== 200 || !isObject(answer.json)) return
  bench.note('task', answer.json)
  const status = textOf(answer.json[contract.names.task.status])
  if (status !== null && run.statuses.at(-1) !== status) run.statuses.push(status)
  if (status === null || isKnownStatus(bench, status)) run.strangeSince = null
  else run.strangeSince ??= bench.now()
  if (isTerminal(bench, status)) {
    bench.sawTask(run.label, {
      kind: textOf(answer.json[contract.names.task.taskKind]),
      requestType: textOf(answer.json[contract.names.task.requestType]),
    })
    run.task = answer.json
    run.endedAt = bench.now()
  }
}

/** One call without an answer must not hide what the others show: it stands in the run with the status 0. */
function unanswered(error: unknown, { method, path }: Pick<Endpoint, 'method' | 'path'>): Answer {
  if (!(error instanceof NoAnswer)) throw error
  return { call: `${method} ${path}`, status: 0, headers: {}, json: { noAnswer: error.message }, bytes: 0, ms: 0 }
}

/** How a run ended, in a few words. */
export function endOf(run: TaskRun): string {
  if (run.submitted.status === 0) return `${run.label} got no answer (${said(at(run.submitted.json, 'noAnswer'))})`
  if (run.submitted.status >= 300) return `${run.label} answered ${run.submitted.status}`
  if (run.correlationId === null) return `${run.label} answered without a correlation id`
  if (run.task === null) {
    const last =
      run.last?.status === 200 ? (run.statuses.at(-1) ?? 'no status') : `task ${run.last?.status ?? 'unread'}`
    const strange = run.strangeSince === null ? '' : ', which is no status of the specification'
    return `${run.label} did not end (${last}${strange})`
  }
  return `${run.label} ended ${run.statuses.at(-1)}`
}

/** The page addresses of a finished search: plain texts, or objects that contain one. */
export function addressesIn({ contract }: Pick<Bench, 'contract'>, task: unknown): string[] {
  const { pageUrls, pageUrl } = contract.names.task
  const pages = at(task, pageUrls)
  if (!Array.isArray(pages)) return []
  return pages.flatMap((page: unknown) => textOf(isObject(page) ? page[pageUrl] : page) ?? [])
}

/** The address of the one file of a finished import; null when it has none. */
export function fileAddressIn({ contract }: Pick<Bench, 'contract'>, task: unknown): string | null {
  const { file, fileUrl } = contract.names.task
  const entry = at(task, file)
  return textOf(isObject(entry) ? entry[fileUrl] : entry)
}

/** The newest tasks, asked for again. */
export async function listTasks(bench: Bench): Promise<Answer> {
  const answer = await bench.wire.call(bench.contract.endpoints.tasks)
  if (answer.status !== 200) bench.note('error', answer.json)
  return answer
}
