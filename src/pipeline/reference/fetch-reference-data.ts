import type { Transaction } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { ReferenceKind } from '../../db/tables/service-tables.ts'
import type { CustomProperty, Group } from '../../exchange/reference-data.ts'
import { type Deps, StopRun } from '../deps.ts'
import {
  documentKey,
  type FetchedDocuments,
  itemsOf,
  type ReferenceDocument,
  readableFrameworks,
  referenceDifferences,
} from './reference-items.ts'
import {
  documentsInForce,
  lockReferenceData,
  noteUntakenReference,
  type StoredReference,
  storableDocuments,
  storeReferenceData,
  untakenReference,
} from './store-reference-data.ts'

/**
 * Fetches the reference data and keeps it, unit types first: the cheapest check of the key (Authentication 5).
 * What the configuration names must be among it, or every request of the night would be refused. All of it is kept, or
 * nothing, but for frameworks that are withdrawn meanwhile: a fetch that fails half-way changes nothing, and one that
 * is not to be believed is not taken.
 *
 * @param run for which it is fetched; null where a plan wants to know.
 * @throws {StopRun} when the identifier or the group is not one that the key's profile can use.
 */
export async function fetchReferenceData(deps: Deps, run: Pick<Run, 'run_id'> | null = null): Promise<void> {
  const { exchange, logger } = deps
  const unit_type = await exchange.getUnitTypes()
  const group = await exchange.getGroups()
  const custom_property = await exchange.getCustomProperties()
  checkIdentifier(deps, custom_property)
  checkGroup(deps, group)
  const runId = run?.run_id ?? null
  const framework = await readableFrameworks(exchange, (id, { message }) =>
    logger.warn({ run_id: runId, framework: id, reason: message }, 'framework_left_out'),
  )

  const fetched: FetchedDocuments = { unit_type, group, custom_property, framework }
  const documents = storableDocuments(fetched)
  const kept = await deps.db.transaction().execute(async (trx) => {
    await lockReferenceData(trx)
    return await keepReferenceData(deps, trx, documents, runId)
  })
  if ('notTaken' in kept) logger.warn({ run_id: runId, reason: kept.notTaken }, 'reference_data_withheld')
  else logger.info({ run_id: runId, ...kept }, 'reference_data_fetched')
}

/** Where nothing is sent there may be none. */
function checkIdentifier({ required }: Deps, properties: CustomProperty[]): void {
  const id = required.customIdentifierId
  if (id === null) return
  const usable = properties.filter((property) => whyUnusable(property) === null)
  const found = properties.find((property) => property.id.toLowerCase() === id.toLowerCase())
  const why = found === undefined ? 'is not a custom property that this key can use' : whyUnusable(found)
  if (why === null) return
  const names = usable.map((property) => `${property.id} (${property.name})`)
  throw new StopRun(
    'identifier_unusable',
    `exchange.customIdentifierId ${id} ${why}. Identifiers: ${names.join(', ') || 'none'}`,
  )
}

/**
 * Companies are named by a String property of the key's own profile (Framework answers upsert request) that is an
 * identifier.
 */
function whyUnusable({ isIdentifier, isOwnedByInvokingCompany, ownerName, type }: CustomProperty): string | null {
  if (!isIdentifier) return 'is a custom property, but no identifier'
  if (isOwnedByInvokingCompany === false) return `belongs to ${ownerName ?? 'another profile'}`
  if (type !== null && type.toLowerCase() !== 'string') return `is of the type ${type}, and not String`
  return null
}

function checkGroup({ required }: Deps, groups: Group[]): void {
  const id = required.groupId
  if (id === null || groups.some((group) => group.id.toLowerCase() === id.toLowerCase())) return
  const usable = groups.map((group) => `${group.id} (${group.name})`)
  throw new StopRun(
    'group_unusable',
    `exchange.groupId ${id} is not a group that this key can use. Groups: ${usable.join(', ') || 'none'}`,
  )
}

/** What became of a fetch: stored, or why it was not. */
type KeptReference = StoredReference | { notTaken: string }

/**
 * Puts fetched documents in force, unless they are so few that a fault is likelier than a decision and nobody has
 * accepted them: then those before stay in force, rows are judged by them, and the report says so (decision 0018).
 */
export async function keepReferenceData(
  { config, now }: Pick<Deps, 'config' | 'now'>,
  trx: Transaction<Schema>,
  documents: readonly ReferenceDocument[],
  runId: number | null,
): Promise<KeptReference> {
  const at = now()
  const inForce = await documentsInForce(trx)
  const reason = whyNotBelieved(inForce, documents, config.push.minReferenceShare)
  const earlier = reason === null ? null : await untakenReference(trx)
  if (reason !== null && (earlier?.reason !== reason || earlier.accepted_at === null)) {
    await noteUntakenReference(trx, { reason, at, runId })
    return { notTaken: reason }
  }
  const acceptedBy = earlier?.accepted_by ?? null
  const changes = referenceDifferences(inForce, documents)
  return await storeReferenceData(trx, documents, changes, { fetchedAt: at, runId, acceptedBy })
}

/**
 * Why a fetch of the reference data is not to be believed, or null. Pure. An empty list, or a framework without its
 * data points, more often comes from a fault at the service or from a changed answer than from a decision; taking it
 * would make every row invalid at once.
 *
 * @param minShare of what is known, 0 to 1; a fetch that brings less of anything is not believed. 0 believes
 * everything.
 */
function whyNotBelieved(
  known: readonly ReferenceDocument[],
  fetched: readonly ReferenceDocument[],
  minShare: number,
): string | null {
  const after = new Map(countsOf(fetched).map(({ key, count }) => [key, count]))
  const listed = new Set(fetched.filter(isFramework).map(documentKey))
  // Of a framework that is gone as a whole only the number of frameworks speaks.
  const before = countsOf(known).filter(({ framework }) => framework === null || listed.has(framework))
  const missing = before.flatMap(({ key, what, count }) => {
    const now = after.get(key) ?? 0
    return now < count * minShare ? [`${what}: ${now}, where ${count} were known`] : []
  })
  return missing.length === 0 ? null : missing.join('; ')
}

/** How many there are of something; `key` and `framework` are the same in every fetch, `what` is for people. */
type Count = { key: string; what: string; count: number; framework: string | null }

const wholes = {
  unit_type: 'unit types',
  custom_property: 'custom properties',
  framework: 'frameworks',
} as const
const parts = { unit: 'units', question: 'questions', data_point: 'data points', option: 'options' } as const

/** How many there are of what rows refer to: of all documents, and data points framework by framework. */
function countsOf(documents: readonly ReferenceDocument[]): Count[] {
  const counts = new Map<string, Count>()
  const add = (key: string, what: string, framework: string | null) => {
    const count = counts.get(key)?.count ?? 0
    counts.set(key, { key, what, count: count + 1, framework })
  }
  for (const document of documents) {
    const items = [...itemsOf(document).values()]
    const name = items.find(({ item }) => item === 'document')?.name ?? ''
    for (const { item, within } of items) {
      // The units of a data point are those of the unit types once more.
      if (item === 'unit' && within !== null) continue
      const what = item === 'document' ? wholeOf(document.kind) : parts[item]
      if (what !== null) add(what, what, null)
      if (item === 'data_point') {
        const framework = documentKey(document)
        add(`${what} ${framework}`, `data points of framework "${name}" (${document.id})`, framework)
      }
    }
  }
  return [...counts.values()]
}

/** No row refers to a group: the one that is configured is looked for by itself. */
function wholeOf(kind: ReferenceKind): string | null {
  return kind === 'group' ? null : wholes[kind]
}

function isFramework({ kind }: ReferenceDocument): boolean {
  return kind === 'framework'
}
