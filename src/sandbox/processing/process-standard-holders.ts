import { isUuid } from '../requests/read-json.ts'
import type { StandardHolder, StandardHoldersRequest } from '../requests/read-standard-holders.ts'
import type { World } from '../service-world.ts'
import { isStorable } from '../storable-text.ts'
import { isIsoDate } from './judge-value.ts'
import type { RowRecorder } from './record-rows.ts'
import { resolveCompanies } from './resolve-companies.ts'
import { type Failure, slices, type Work } from './work.ts'

/** Stores which company holds which standard; a standard that is sent again replaces the earlier entry. */
export async function processStandardHolders(
  work: Work,
  request: Pick<StandardHoldersRequest, 'customIdentifierId' | 'holders'>,
  recorder: RowRecorder,
): Promise<void> {
  for (const slice of slices(request.holders, 1000, work.signal)) {
    const resolved = await resolveCompanies(
      work.sandbox.pool,
      work,
      slice.map(({ identifier }) => ({ propertyId: request.customIdentifierId, value: identifier })),
    )
    const held = new Map<string, StandardHolder & { companyId: string }>()
    for (const [index, sent] of slice.entries()) {
      const company = resolved[index]
      if (!company) continue
      const { companyId } = company
      const row = { companyId, identifier: sent.identifier, standardId: sent.standardId }
      const holder = { ...sent, standardId: sent.standardId.toLowerCase() }
      const failure = company.failure ?? judgeHolder(work.sandbox.world, holder)
      if (failure) recorder.fail(row, failure)
      if (failure || companyId === null) continue
      recorder.accept(row)
      held.set(`${companyId} ${holder.standardId}`, { ...holder, companyId })
    }
    await Promise.all([storeHolders(work, [...held.values()]), recorder.flush()])
  }
}

function judgeHolder(world: World, holder: StandardHolder): Failure | null {
  const standard = world.standards.find(({ id }) => id === holder.standardId)
  const known = standard !== undefined || (world.incomplete.includes('standards') && isUuid(holder.standardId))
  if (!known) {
    return { reason: 'standard_not_found', message: `There is no standard with the id "${holder.standardId}".` }
  }
  if (holder.level !== null && standard && !takesLevel(world, standard, holder.level)) {
    return { reason: 'level_not_found', message: `"${holder.level}" is not a level of "${standard.title}".` }
  }
  if (holder.level !== null && !isStorable(holder.level)) {
    return { reason: 'text_not_storable', message: 'The level holds an unusable character.' }
  }
  for (const date of [holder.startDate, holder.expiryDate]) {
    if (date !== null && !isIsoDate(date)) {
      return { reason: 'date_invalid', message: 'One of the dates is not an ISO date.' }
    }
  }
  if (holder.startDate !== null && holder.expiryDate !== null && holder.expiryDate < holder.startDate) {
    return { reason: 'date_range_reversed', message: 'The standard expires before it starts.' }
  }
  return null
}

/** A standard whose levels nobody knows takes every level. */
function takesLevel(world: World, { levels }: { levels: readonly string[] }, level: string): boolean {
  return levels.includes(level) || (levels.length === 0 && world.incomplete.includes('standards'))
}

async function storeHolders(work: Work, held: readonly (StandardHolder & { companyId: string })[]): Promise<void> {
  await work.sandbox.pool.query(
    `insert into sandbox.standard_holder (company_id, standard_id, level, start_date, expiry_date, changed_at)
     select *, $6::timestamptz from unnest($1::uuid[], $2::uuid[], $3::text[], $4::date[], $5::date[]) order by 1, 2
     on conflict (company_id, standard_id) do update
       set level = excluded.level, start_date = excluded.start_date, expiry_date = excluded.expiry_date,
           changed_at = excluded.changed_at`,
    [
      held.map(({ companyId }) => companyId),
      held.map(({ standardId }) => standardId),
      held.map(({ level }) => level),
      held.map(({ startDate }) => startDate),
      held.map(({ expiryDate }) => expiryDate),
      new Date(work.sandbox.clock.now()),
    ],
  )
}
