import type { QueryResultRow } from 'pg'
import { groupIdsOf } from '../../requests/check-access.ts'
import type { Queryable } from '../../running-sandbox.ts'
import type { Work } from '../work.ts'

export type FoundCompany = {
  id: string
  name: string
  /** Null, here and below: nobody knows. */
  street: string | null
  latitude: number | null
  longitude: number | null
  countryCode: string | null
  hotelCode: string | null
  bookingId: string | null
  /** When a custom property value of it last changed, of those that the profile owns; null while it has none. */
  changedAt: Date | null
}

/**
 * The companies in the profile's groups, each once, in the order of their numbers. Needs a transaction of its own. What
 * other profiles keep of a company is not seen, nor when they changed it.
 */
export async function* readCompanies(
  snapshot: Queryable,
  { sandbox: { world }, profileId }: Pick<Work, 'sandbox' | 'profileId'>,
): AsyncGenerator<FoundCompany[]> {
  const owned = world.customProperties.filter((property) => property.profileId === profileId).map(({ id }) => id)
  await snapshot.query(
    `declare found no scroll cursor for
     select id, name, street, latitude, longitude, country_code as "countryCode", hotel_code as "hotelCode",
            booking_id as "bookingId",
            greatest(
              (select max(changed_at) from sandbox.property_value value
               where value.company_id = company.id and property_id = any($2)),
              (select max(changed_at) from sandbox.identifier value
               where value.company_id = company.id and property_id = any($2))
            ) as "changedAt"
     from sandbox.company
     where exists (select from sandbox.group_company where group_id = any($1) and company_id = company.id)
     order by number`,
    [groupIdsOf(world, profileId), owned],
  )
  yield* fetchFound<FoundCompany>(snapshot)
}

/** What the cursor `found` of this transaction gives, 100 rows at a time: some megabytes where companies have much. */
export async function* fetchFound<Row extends QueryResultRow>(snapshot: Queryable): AsyncGenerator<Row[]> {
  for (;;) {
    const { rows } = await snapshot.query<Row>('fetch 100 from found')
    if (rows.length === 0) return
    yield rows
  }
}
