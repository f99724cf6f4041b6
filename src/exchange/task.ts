import type { Contract } from './contract.ts'
import { AnswerFormatError } from './errors.ts'
import { idOf, instantOf, integerOf, listOf, monthName, objectOf, textOf, type WireObject } from './wire-value.ts'

/** Whether the service has finished with a task. Terminal does not mean that every item succeeded. */
type TaskPhase = 'in_flight' | 'terminal'

/** A task as the service reports it. Specification: Task (bulk request), Task statuses. */
export type Task = {
  correlationId: string
  /** The service's spelling. */
  status: string
  phase: TaskPhase
  /** False for a status that the contract does not name; it counts as in flight. */
  known: boolean
  requestType: string | null
  taskKind: string | null
  createdAt: Date | null
  /** The key that submitted it, as the service calls it; null where it does not say. */
  apiKeyId: string | null
  /** Addresses of the result pages of a search, in the order given. */
  pageUrls: string[]
  /** Address of the single result file of a calculator upsert or of company mappings. */
  fileUrl: string | null
  generalErrors: string[]
  /** One for each failed row that the service names, also when it says nothing usable about it. */
  rowErrors: RowError[]
  /** The answer as it came. */
  raw: unknown
}

/**
 * Reads a task. Unknown fields are ignored, an unknown status is in flight, missing lists are empty.
 * @throws {AnswerFormatError} when it is no task, or when a page address or error list cannot be read: dropping one
 * would lose a page, or pass a failed row off as accepted.
 */
export function decodeTask(contract: Contract, json: unknown): Task {
  const names = contract.names.task
  const task = objectOf(json)
  const head = task === null ? null : decodeHead(contract, task)
  if (task === null || head === null) {
    throw new AnswerFormatError(`no task: an object with ${names.correlationId} and ${names.status} was expected`)
  }
  const where = `task ${head.correlationId}`
  return {
    ...head,
    pageUrls: listOf(task[names.pageUrls], `${where}: ${names.pageUrls}`).map((page) =>
      addressOf(page, names.pageUrl, `${where}: ${names.pageUrls}`),
    ),
    fileUrl: task[names.file] == null ? null : addressOf(task[names.file], names.fileUrl, `${where}: ${names.file}`),
    ...decodeErrors(contract, task[names.error], where),
    raw: json,
  }
}

/** What two spellings of a task's id have in common: a uuid is the same in capitals. Pure. */
export function taskKey(correlationId: string): string {
  return correlationId.toLowerCase()
}

/** The spellings of a task's id under which the answer to its request may have been stored. Pure. */
export function taskSpellings(correlationId: string): string[] {
  return [correlationId, taskKey(correlationId), correlationId.toUpperCase()]
}

/**
 * Reads the list of the newest tasks and skips what is no task. Listed tasks carry no results (Spec gap: the item
 * layout is not shown, docs/spec-gaps.md): their lists stay empty here, read the task for them.
 * @throws {AnswerFormatError} when the answer is no list.
 */
export function decodeTasks(contract: Contract, json: unknown): Task[] {
  if (!Array.isArray(json)) throw new AnswerFormatError('the task list is no list')
  return json.flatMap((item: unknown) => {
    const task = objectOf(item)
    const head = task === null ? null : decodeHead(contract, task)
    if (head === null) return []
    return [{ ...head, pageUrls: [], fileUrl: null, generalErrors: [], rowErrors: [], raw: item }]
  })
}

/** Characters of a status that are read: one that is longer is no word of the contract, and is noted at each poll. */
const longestName = 200

type TaskHead = Omit<Task, 'pageUrls' | 'fileUrl' | 'generalErrors' | 'rowErrors' | 'raw'>

function decodeHead(contract: Contract, task: WireObject): TaskHead | null {
  const names = contract.names.task
  const correlationId = idOf(task[names.correlationId])
  const status = idOf(task[names.status])
  if (correlationId === null || status === null) return null
  return {
    correlationId,
    status: status.slice(0, longestName).toWellFormed(),
    ...phaseOf(contract, status),
    requestType: textOf(task[names.requestType]),
    taskKind: textOf(task[names.taskKind]),
    createdAt: instantOf(task[names.createdAt]),
    apiKeyId: idOf(task[names.apiKeyId]),
  }
}

function phaseOf({ taskStatuses }: Contract, status: string): { phase: TaskPhase; known: boolean } {
  const { pending, scheduled, inProgress, success, partialSuccess, error, cancelled } = taskStatuses
  if ([success, partialSuccess, error, cancelled].includes(status)) return { phase: 'terminal', known: true }
  return { phase: 'in_flight', known: [pending, scheduled, inProgress].includes(status) }
}

function addressOf(value: unknown, field: string, where: string): string {
  const address = idOf(objectOf(value)?.[field] ?? value)
  if (address === null) throw new AnswerFormatError(`${where} holds something that is no address`)
  return address
}

/**
 * Row errors that are read of one task, each of which costs a kilobyte of memory however few bytes it has in the
 * answer. A request holds 100,000 rows at most; too low, and a task is read in halves for nothing.
 */
const maxRowErrors = 250_000

function decodeErrors(contract: Contract, error: unknown, where: string): Pick<Task, 'generalErrors' | 'rowErrors'> {
  if (error === undefined || error === null) return { generalErrors: [], rowErrors: [] }
  const names = contract.names.task
  const fields = objectOf(error)
  if (fields === null) return { generalErrors: [wordsOf(error)], rowErrors: [] }
  const general = fields[names.generalErrorMessages]
  const rows = listOf(fields[names.rowErrors], `${where}: ${names.rowErrors}`)
  if (rows.length > maxRowErrors) {
    const what = `${where}: ${names.rowErrors} holds ${rows.length} errors, and at most ${maxRowErrors} are read`
    throw new AnswerFormatError(what, { tooLong: true })
  }
  return {
    generalErrors: (typeof general === 'string' ? [general] : listOf(general, `${where}: general errors`)).map(wordsOf),
    rowErrors: rows.map((row) => decodeRowError(contract, row)),
  }
}

function wordsOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A failed row of an import, as far as the service identifies it. Specification: Task (bulk request), Errors. */
export type RowError = {
  companyId: string | null
  /** The partner's own id, when the row named its company by one. */
  identifiedByValue: string | null
  dataPointId: string | null
  questionId: string | null
  /** Of a custom property value. */
  propertyId: string | null
  /** Of a standard that is held. */
  standardId: string | null
  /** Of a calculator's input. */
  fieldTypeId: string | null
  periodType: string | null
  year: number | null
  /** A month name. */
  month: string | null
  /** A code or sentence, verbatim. */
  reason: string | null
  message: string | null
}

/** Reads a row error. Never drops one: what cannot be read is null, and what is no object becomes the message. */
export function decodeRowError(contract: Contract, value: unknown): RowError {
  const { rowError: names, companies, standardHolders, calculators } = contract.names
  const fields = objectOf(value)
  const read = (field: keyof typeof names) => fields?.[names[field]]
  return {
    companyId: idOf(read('companyId')),
    identifiedByValue: textOf(read('identifiedByValue')),
    dataPointId: idOf(read('dataPointId')),
    questionId: idOf(read('questionId')),
    // Spec gap: how an error row names these is not shown (docs/spec-gaps.md); what requests call them is read.
    propertyId: idOf(fields?.[companies.propertyId]),
    standardId: idOf(fields?.[standardHolders.standardId]),
    fieldTypeId: idOf(fields?.[calculators.fieldTypeId]),
    periodType: textOf(read('periodType')),
    year: integerOf(read('year')),
    month: monthOf(read('month')),
    reason: textOf(read('reason')),
    message: fields === null ? (textOf(value) ?? JSON.stringify(value)) : textOf(read('message')),
  }
}

function monthOf(value: unknown): string | null {
  if (typeof value !== 'number') return textOf(value)
  return Number.isInteger(value) && value >= 1 && value <= 12 ? monthName(value) : String(value)
}
