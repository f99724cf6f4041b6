import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { readYaml } from '../read-yaml.ts'
import {
  type Endpoint,
  endpoint,
  type GenericKind,
  genericKinds,
  name,
  type TaskName,
  taskName,
} from './generic-kinds.ts'
import { wireNames } from './wire-names.ts'

export type { Endpoint, TaskName }

function keyed<const K extends string, T extends z.ZodType>(keys: readonly K[], value: T) {
  return z.strictObject(Object.fromEntries(keys.map((key) => [key, value])) as Record<K, T>)
}

/** The bulk requests whose task can be recognised by its kind and request type. */
export const bulkRequests = [
  'companyMappings',
  'frameworkAnswersUpsert',
  'calculatorsUpsert',
  'companiesUpsert',
  'standardHoldersUpsert',
  'calculatorsSearch',
  'companiesSearch',
  'standardsSearch',
  'standardHoldersSearch',
  'frameworkAnswersSearch',
] as const
export type BulkRequest = (typeof bulkRequests)[number]

type Messages = typeof wireNames

/** What the specification names and Nightferry does not call: deprecated endpoints, applications, the description. */
const otherEndpoints = [
  'companiesSearchV1',
  'companiesLatestFileV1',
  'standardsSearchV1',
  'standardsLatestFileV1',
  'frameworkAnswersSearchV1',
  'calculatorsSearchV1',
  'performanceAnswersUpsertV1',
  'standardHoldersUpsertV1',
  'companiesUpsertV1',
  'statusV1',
  'customIdentifiersV1',
  'applications',
  'application',
  'applicationStatus',
  'applicationAnswers',
  'applicationAnswersUpdate',
  'description',
] as const

/** Webhook topics by the status or the change that they tell of (specification, Events). */
const webhookTopics = [
  'pending',
  'scheduled',
  'inProgress',
  'success',
  'partialSuccess',
  'error',
  'cancelled',
  'applicationStatusChanged',
  'applicationAnswersChanged',
  'test',
] as const

const contractFile = z.strictObject({
  endpoints: keyed(
    [
      ...bulkRequests,
      'task',
      'tasks',
      'cancelTask',
      'unitTypes',
      'frameworks',
      'framework',
      'groups',
      'customProperties',
    ],
    endpoint,
  ),
  otherEndpoints: keyed(otherEndpoints, endpoint),
  webhookTopics: keyed(webhookTopics, name),
  taskNames: keyed(bulkRequests, taskName),
  taskStatuses: keyed(['pending', 'scheduled', 'inProgress', 'success', 'partialSuccess', 'error', 'cancelled'], name),
  names: z.strictObject(
    Object.fromEntries(Object.entries(wireNames).map(([message, fields]) => [message, keyed(fields, name)])),
  ),
  kinds: genericKinds,
})

/**
 * Every name on the wire, resolved: `contract.names.task.status` is the string to read or write.
 * Loaded from `config/contract.yaml`, the only place that spells such a name.
 */
export type Contract = {
  endpoints: z.infer<typeof contractFile>['endpoints']
  otherEndpoints: z.infer<typeof contractFile>['otherEndpoints']
  taskNames: z.infer<typeof contractFile>['taskNames']
  webhookTopics: Record<(typeof webhookTopics)[number], string>
  taskStatuses: Record<keyof z.infer<typeof contractFile>['taskStatuses'], string>
  names: { [M in keyof Messages]: Record<Messages[M][number], string> }
  /** The bulk requests that a deployment adds, in the order of the file. */
  kinds: readonly GenericKind[]
  /** Dotted keys of the entries that are our assumption; docs/spec-gaps.md explains each. */
  assumed: string[]
}

/** The contract file is missing, no YAML, or does not name what it must. */
export class ContractError extends Error {
  readonly code = 'contract_invalid'
}

/** JSON has no words for a document that contains itself. */
function containsItself(document: unknown): boolean {
  try {
    JSON.stringify(document)
    return false
  } catch {
    return true
  }
}

/**
 * Reads and checks a contract file.
 * @throws {ContractError} with every problem listed by its path in the file.
 */
export function loadContract(file: string): Contract {
  let document: unknown
  try {
    document = readYaml(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new ContractError(`${file}: ${(error as Error).message}`)
  }
  // A template of `kinds` that does so is named with its place, by the check of these.
  if (containsItself({ ...(document as object), kinds: null })) {
    throw new ContractError(`${file}: an alias refers to a mapping or list that it is itself a part of`)
  }
  const checked = contractFile.safeParse(document)
  if (!checked.success) {
    const problems = checked.error.issues.map((issue) => `  ${issue.path.join('.') || '(top)'}: ${issue.message}`)
    throw new ContractError(`${file} does not describe the wire completely:\n${problems.join('\n')}`)
  }
  const { endpoints, otherEndpoints, taskNames, taskStatuses, webhookTopics, names, kinds } = checked.data
  const named = names as Record<string, Record<string, z.infer<typeof name>>>
  const plain = (fields: Record<string, { name: string }>) =>
    Object.fromEntries(Object.entries(fields).map(([key, entry]) => [key, entry.name]))
  return {
    endpoints,
    otherEndpoints,
    taskNames,
    webhookTopics: plain(webhookTopics) as Contract['webhookTopics'],
    taskStatuses: plain(taskStatuses) as Contract['taskStatuses'],
    names: Object.fromEntries(
      Object.entries(named).map(([message, fields]) => [message, plain(fields)]),
    ) as Contract['names'],
    kinds,
    assumed: [
      ...assumedKeys('endpoints', endpoints),
      ...assumedKeys('otherEndpoints', otherEndpoints),
      ...assumedKeys('taskNames', taskNames),
      ...assumedKeys('taskStatuses', taskStatuses),
      ...assumedKeys('webhookTopics', webhookTopics),
      ...Object.entries(named).flatMap(([message, fields]) => assumedKeys(`names.${message}`, fields)),
      ...kinds.flatMap((kind) =>
        assumedKeys(`kinds.${kind.name}`, { endpoint: kind.endpoint, taskName: kind.taskName }),
      ),
    ],
  }
}

function assumedKeys(prefix: string, entries: Record<string, { source: string }>): string[] {
  return Object.entries(entries).flatMap(([key, entry]) => (entry.source === 'assumed' ? [`${prefix}.${key}`] : []))
}
