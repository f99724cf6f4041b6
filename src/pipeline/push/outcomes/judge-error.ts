import type { NamedError } from '../../../db/ledger/error-outcomes.ts'
import type { RowOutcome } from '../../../db/ledger/settle-outcomes.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { RowError, Task } from '../../../exchange/task.ts'
import { monthNumber } from '../../../exchange/wire-value.ts'

/**
 * A task's error row in the terms of the ledger. Pure.
 *
 * An omitted month of a yearly period means January, as it does where it is sent (Framework answers upsert request). A
 * month that cannot be read is no reason to take the error for one about every month: such an error matches nothing.
 */
export function namedError(contract: Contract, error: RowError): NamedError {
  const names = contract.names.frameworkAnswers
  const is = (name: string) => error.periodType?.toLowerCase() === name.toLowerCase()
  const yearly = is(names.yearly)
  const month = monthOf(error.month)
  return {
    company_id: error.companyId,
    partner_id: error.identifiedByValue,
    data_point_id: error.dataPointId,
    question_id: error.questionId,
    property_id: error.propertyId,
    standard_id: error.standardId,
    field_type_id: error.fieldTypeId,
    period_type: yearly ? 'Yearly' : is(names.monthly) ? 'Monthly' : error.periodType,
    year: error.year,
    month: month ?? (error.month === null && yearly && error.year !== null ? 1 : null),
    code: error.reason,
    reason: error.message ?? error.reason,
    why: error.month !== null && month === null ? `its month '${error.month}' is none` : null,
  }
}

/** A month by its name, or by its number as a text. */
function monthOf(text: string | null): number | null {
  if (text === null) return null
  const number = /^0?\d$|^1[0-2]$/.test(text) ? Number(text) : monthNumber(text)
  return number === undefined || number === 0 ? null : number
}

/** What is said of a request as a whole is stored with each of its rows: characters that are kept of it. */
const longestWords = 2_000

/** Words about a request as a whole, as they are stored with each of its rows; the task keeps them in full. Pure. */
export function wordsForRows(text: string): string {
  return text.length > longestWords ? `${text.slice(0, longestWords).toWellFormed()} …` : text
}

/** What a task says of its request as a whole; empty where it says nothing. Pure. */
export function generalWords({ generalErrors }: Pick<Task, 'generalErrors'>): string {
  return wordsForRows(generalErrors.join('; '))
}

/** The first words of error rows that are none of the request: what is said of a row that it cannot name. Pure. */
export function listedErrors({ rowErrors }: Task): string {
  const words = new Set(rowErrors.slice(0, 10).map(({ message, reason }) => message ?? reason ?? ''))
  words.delete('')
  return wordsForRows([...words].slice(0, 3).join('; '))
}

/**
 * What a terminal task says about the rows that none of its errors names. Pure.
 *
 * Success: accepted, as far as can be inferred. PartialSuccess: the same, if it names any row at all; a partial
 * success that names none leaves open which rows failed. Error and Cancelled: nobody knows.
 * Specification: Rules of processing 5 and 6.
 */
export function unnamedRows({ taskStatuses }: Contract, task: Task): RowOutcome {
  const said = generalWords(task)
  if (task.status === taskStatuses.success) return { outcome: 'inferred' }
  if (task.status === taskStatuses.partialSuccess) {
    if (task.rowErrors.length > 0) return { outcome: 'inferred' }
    return {
      outcome: 'unknown',
      code: 'partial_without_rows',
      reason: said || 'the task succeeded in part and does not say which rows failed',
    }
  }
  return {
    outcome: 'unknown',
    code: `task_${task.status.toLowerCase()}`,
    reason: said || `the task ended as ${task.status} and does not name this row`,
  }
}

/** One request of those that a request was split into, or the first of them itself. */
export type Part = {
  /** How often the first request was split to come to this one; 0: it is the first one. */
  depth: number
  /**
   * `open`: its task has not ended. `passed`: the service got through with it. `failed`: its task ended in Error and
   * names no row. `nothing`: it ended in another way, which says nothing about its rows.
   */
  fate: 'open' | 'passed' | 'failed' | 'nothing'
  /** Whether it has been judged: until then a part that failed may still have halves. */
  settled: boolean
}

export type FailedPart = {
  rows: number
  depth: number
  /** Every request that comes of the same first one, that one and this one included. */
  family: readonly Part[]
  /** `push.maxSplits`. */
  maxSplits: number
}

/** What to do about a request whose task ended in Error without naming a row. */
export type SplitVerdict =
  /** Its rows are sent again in two halves. */
  | 'split'
  /** It is one row, which alone can be what the service fails over. */
  | 'alone'
  /** Every part failed alike, so it is not the rows. */
  | 'not_the_rows'
  /** The first request was split as often as is allowed. */
  | 'too_many'
  /** The other parts decide, and have not ended. */
  | 'wait'

/** The levels on which every part must fail before the rows count as not the reason. */
export const tellingDepth = 2

/** Rows of the smallest request that has all of these parts: fewer cannot tell an outage from a row. */
export const tellingRows = 2 ** tellingDepth

/**
 * Judges a request whose task ended in Error without naming a row. Pure.
 *
 * A row that the service fails over is found by halves: the request that holds it fails, the others pass. When the
 * first request fails, and both halves, and all of their halves, it is plainly something else, and splitting on would
 * only send more of what fails.
 */
export function judgeFailedPart({ rows, depth, family, maxSplits }: FailedPart): SplitVerdict {
  if (depth >= tellingDepth) {
    const telling = family.filter((part) => part.depth > 0 && part.depth <= tellingDepth)
    if (!family.some(({ depth: level, fate }) => level > 0 && fate === 'passed')) {
      const outstanding = telling.some((part) => part.fate === 'open' || (part.depth < tellingDepth && !part.settled))
      return outstanding ? 'wait' : 'not_the_rows'
    }
  }
  if (rows === 1) return 'alone'
  return family.length - 1 + 2 > maxSplits ? 'too_many' : 'split'
}

/**
 * Cuts rows in two, as evenly as it goes, in their order. Rows of one target stay together, because two requests that
 * write the same company must not run at once; only where nothing but one target is left are its rows cut. Pure.
 */
export function cutInHalves<T extends { target: string }>(rows: readonly T[]): [T[], T[]] {
  const targets = [...Map.groupBy(rows, ({ target }) => target).values()]
  if (targets.length < 2) {
    const middle = Math.ceil(rows.length / 2)
    return [rows.slice(0, middle), rows.slice(middle)]
  }
  let first = 0
  let cut = 0
  // The cut that leaves the larger half smallest; at least one target on either side.
  do first += targets[cut++]?.length ?? 0
  while (cut < targets.length - 1 && first + (targets[cut]?.length ?? 0) <= rows.length / 2)
  return [targets.slice(0, cut).flat(), targets.slice(cut).flat()]
}
