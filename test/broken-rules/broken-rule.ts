import type { EntryId } from '../../src/conformance/outline.ts'
import { isObject, objectsOf } from '../../src/conformance/wire-json.ts'
import type { Delivery, Exchange, Fate, File, Hooks, Json } from './broken-service.ts'

/** One rule that the service breaks, and the statement under which the suite must say so. */
export type BrokenRule = {
  statement: EntryId
  rule: string
  /** `year` is the one that is written to. */
  hooks: (year: number) => Hooks
  /** How long tasks are waited for, in milliseconds, where the broken rule keeps them from ending. */
  taskMs?: number
}

export const broken = (statement: EntryId, rule: string, hooks: BrokenRule['hooks']): BrokenRule => ({
  statement,
  rule,
  hooks,
})

/** The same of a rule that keeps tasks from ending. */
export const endless = (statement: EntryId, rule: string, hooks: BrokenRule['hooks']): BrokenRule => ({
  ...broken(statement, rule, hooks),
  taskMs: 1500,
})

/** Changes the answers of calls that end in a path: `GET /unit-types`. Ids stand in it as `*`. */
export function answers(call: string, change: (exchange: Exchange, body: Json) => void): Hooks {
  const [method = '', path = ''] = call.split(' ')
  const pattern = new RegExp(`${path.replaceAll('*', '[0-9a-f-]{36}')}$`)
  return {
    answer: (exchange) => {
      if (exchange.method !== method || !pattern.test(exchange.path)) return
      change(exchange, isObject(exchange.answer.json) ? exchange.answer.json : {})
    },
  }
}

/** Changes what the task endpoint says of tasks of a type; null: of mappings. */
export function tasks(requestType: string | null, change: (task: Json) => void): Hooks {
  return answers('GET /api/v2/bulk/tasks/*', ({ answer }, task) => {
    if (answer.status === 200 && task.requestType === requestType) change(task)
  })
}

/** The same of tasks that have ended, and of any type. */
export function endedTasks(change: (task: Json) => void): Hooks {
  return answers('GET /api/v2/bulk/tasks/*', ({ answer }, task) => {
    if (answer.status === 200 && ends.includes(String(task.status))) change(task)
  })
}

/** Tasks of a type all end in Error, and name no row. */
export function failsWithoutRows(requestType: string): Hooks {
  return tasks(requestType, (task) => {
    if (!ends.includes(String(task.status))) return
    Object.assign(task, { status: 'Error', error: { generalErrorMessages: ['It is gone.'], rowErrors: [] } })
  })
}

/** Every company of the calculator search has this value of a property. */
export function everyCompanyHas(propertyId: string, value: string): Hooks {
  return companies('BulkGetCompanyCalculators', (company) => {
    company.fields = { ...(isObject(company.fields) && company.fields), [propertyId]: [value] }
  })
}

export const ends = ['Success', 'PartialSuccess', 'Error', 'Cancelled']

/** Answers with another status, and with what a refusal must carry. */
export function answerWith({ answer }: Exchange, status: number): void {
  answer.status = status
  answer.json = { errorCode: 'broken_on_purpose', message: 'A rule is broken on purpose.' }
}

/** Changes the result files of requests of a type; null: of mappings. */
export function files(requestType: string | null, change: (document: Json, file: File) => void): Hooks {
  return {
    file: (file) => {
      if (file.requestType === requestType && isObject(file.json)) change(file.json, file)
    },
  }
}

/** Changes every company on the pages of a search. */
export function companies(requestType: string, change: (company: Json, file: File) => void): Hooks {
  return files(requestType, (page, file) => {
    for (const company of objectsOf(page.companies)) change(company, file)
  })
}

/** Changes every calculator on the pages of the calculator search. */
export function calculators(change: (calculator: Json) => void): Hooks {
  return companies('BulkGetCompanyCalculators', (company) => {
    for (const calculator of objectsOf(company.calculators)) change(calculator)
  })
}

/** Changes the periods of a year on the pages of the framework answers search. */
export function periods(year: number, change: (period: Json, company: Json) => void): Hooks {
  return companies('BulkGetFrameworkAnswers', (company) => {
    for (const period of objectsOf(company.periods)) if (period.year === year) change(period, company)
  })
}

/** Of a year these months do not come back on those pages. */
export function withoutMonths(year: number, ...months: readonly unknown[]): Hooks {
  return companies('BulkGetFrameworkAnswers', (company) => {
    company.periods = objectsOf(company.periods).filter((one) => one.year !== year || !months.includes(one.month))
  })
}

/** Changes deliveries of the main webhook, of these topics or of all; the change can also lose them. */
export function events(topics: readonly string[], change: (data: Json, delivery: Delivery) => Fate): Hooks {
  return {
    delivery: (delivery) => {
      if (topics.length > 0 && !topics.includes(String(delivery.json.type))) return undefined
      return change(delivery.json.data as Json, delivery)
    },
  }
}

/** Whether a delivery is of a bulk event to the main webhook. */
export const isMain = ({ path, json }: Delivery) => path === '/main' && String(json.type).startsWith('bulk.')
