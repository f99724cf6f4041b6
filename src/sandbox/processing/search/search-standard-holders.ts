import { groupIdsOf } from '../../requests/check-access.ts'
import { isUuid } from '../../requests/read-json.ts'
import type { StandardHoldersSearchRequest } from '../../requests/read-searches.ts'
import type { Queryable } from '../../running-sandbox.ts'
import type { Work } from '../work.ts'
import { fetchFound } from './stored-companies.ts'
import type { Element, Listing } from './write-pages.ts'

type Holder = {
  companyId: string
  standardId: string
  level: string | null
  startDate: string | null
  expiryDate: string | null
  changedAt: Date
}

/**
 * Which of the companies in the profile's groups hold which standards, in the order of the companies; `standardIds`
 * empty: of every standard. Spec gap: the page is not shown, docs/spec-gaps.md.
 */
export function searchStandardHolders(work: Work, request: StandardHoldersSearchRequest, snapshot: Queryable): Listing {
  const names = work.sandbox.contract.names.standardHoldersPage
  const describe = (holder: Holder): Element => ({
    text: JSON.stringify({
      [names.companyId]: holder.companyId,
      [names.standardId]: holder.standardId,
      ...(holder.level !== null && { [names.level]: holder.level }),
      ...(holder.startDate !== null && { [names.startDate]: holder.startDate }),
      ...(holder.expiryDate !== null && { [names.expiryDate]: holder.expiryDate }),
      [names.changedAt]: holder.changedAt.toISOString(),
    }),
  })
  async function* elements(): AsyncGenerator<Element[]> {
    await declareHolders(snapshot, groupIdsOf(work.sandbox.world, work.profileId), request.standardIds)
    for await (const holders of fetchFound<Holder>(snapshot)) yield holders.map(describe)
  }
  return { array: names.holders, head: () => ({}), elements: elements() }
}

async function declareHolders(
  snapshot: Queryable,
  groupIds: readonly string[],
  standardIds: readonly string[],
): Promise<void> {
  await snapshot.query(
    `declare found no scroll cursor for
     select company_id as "companyId", standard_id as "standardId", level,
            start_date::text as "startDate", expiry_date::text as "expiryDate",
            changed_at as "changedAt"
     from sandbox.standard_holder holder join sandbox.company on company.id = holder.company_id
     where exists (
             select from sandbox.group_company member
             where member.group_id = any($1) and member.company_id = holder.company_id)
       and ($2 or standard_id = any($3))
     order by company.number, standard_id`,
    [groupIds, standardIds.length === 0, standardIds.filter(isUuid)],
  )
}
