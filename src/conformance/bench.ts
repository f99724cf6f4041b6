import type { Contract } from '../exchange/contract.ts'
import type { AnswerShape } from './names/shapes.ts'
import type { Answer, Wire } from './wire.ts'
import type { WireObject } from './wire-json.ts'

/** The one hotel that may be written to. */
export type Writing = {
  groupId: string
  customIdentifierId: string
  /** Its value of the identifier. */
  identifier: string
  /** The service's id of its company, for a hotel that is not mapped yet. */
  companyId: string | null
  /** A field type to send an input for; null: one that the calculator search names. */
  fieldTypeId: string | null
  /** The reporting year that is written to. */
  year: number
}

/** How long things may take, in milliseconds. */
export type Limits = {
  callMs: number
  /** Between two looks at unfinished tasks. */
  pollMs: number
  /** From a submission to its terminal status. */
  taskMs: number
  totalMs: number
}

/** How a task names itself; null where it does not. */
export type TaskNames = { kind: string | null; requestType: string | null }

/** A body that was sent, and what the service said to it. */
type SentBody = { request: string; body: unknown; status: number }

/** A submitted request and what its task has shown. */
export type TaskRun = {
  label: string
  submitted: Answer
  correlationId: string | null
  /** Each status when it was first seen, in order; a status that came back stands twice. */
  statuses: string[]
  /** The answer to the last look at the task. */
  last: Answer | null
  /** The task once terminal; null when it did not get there in time. */
  task: WireObject | null
  startedAt: number
  endedAt: number | null
  /** Since when the task shows a status that the specification does not name; null: it does not. */
  strangeSince: number | null
  /** Times of the looks. */
  looks: number[]
}

/** What checks work with. Evidence is gathered once, when the first check asks for it. */
export type Bench = {
  contract: Contract
  wire: Wire
  limits: Limits
  now: () => number
  /** Resolves after so many milliseconds; rejects when the run is stopped. */
  wait: (ms: number) => Promise<unknown>
  writing: Writing | null
  /** The sandbox's own administration API may be used. */
  administration: boolean
  /** Further keys: of a certifier profile that owns applications, and of another integration of the same profile. */
  certifierKey: string | null
  siblingKey: string | null
  /** Every request that was sent and may be told of: not those that were sent while the main webhook was disabled. */
  told: TaskRun[]
  /** Statuses that the specification does not name and that no task left while it was waited for. */
  lastingStrangers: Set<string>
  /** Undoes something when the run is over, however it ends. */
  atEnd: (undo: () => Promise<unknown>) => void
  /** The same promise for the same name. */
  once<T>(name: string, gather: () => Promise<T>): Promise<T>
  /** Remembers the names in a document that came by. */
  note(shape: AnswerShape, document: unknown): void
  /** Remembers how the task of a request names itself. */
  sawTask(label: string, names: TaskNames): void
  /** Remembers a body that was sent, for the names in it. */
  sentBody(sent: SentBody): void
}

export const needsWriting = 'needs leave to write: --group, --custom-identifier, --identifier'
export const needsAdministration = 'needs the administration API of the sandbox: --administration'
export const needsCertifier = 'needs the key of a certifier that owns applications: --certifier-key'
