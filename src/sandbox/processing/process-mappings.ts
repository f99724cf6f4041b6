import { createListFile } from '../files/write-file.ts'
import type { MappingCompany, MappingRequest } from '../requests/read-mappings.ts'
import { inTransaction, type Queryable } from '../running-sandbox.ts'
import { isStorable, nameKey } from '../storable-text.ts'
import type { Outcome } from '../tasks/sandbox-task.ts'
import { type Candidate, type Match, matchCompany } from './match-company.ts'
import { emptyOutcome, slices, type Work } from './work.ts'

/** Longest identifier value. An index entry of Postgres has room for some 2,700 bytes; real ids are far shorter. */
const maxIdentifierLength = 400

/**
 * Stores the partner's id under the identifier for every company that is found, and brings the company into the
 * profile's group. The last mapping of a value wins; a company may have several values. A company that an id of the
 * same request leads to only for a moment is neither stored nor reported as mapped. Spec gap: what becomes of an id
 * that stands twice in a request is not shown, docs/spec-gaps.md.
 */
export async function processMappings(work: Work, request: MappingRequest): Promise<Outcome> {
  const { pool, contract } = work.sandbox
  const names = contract.names.companyMappingsResult
  const file = await createListFile(pool, work.taskId, names.companies)
  const outcome = emptyOutcome()
  const matches: Match[] = []
  for (const slice of slices(request.companies, 500, work.signal)) matches.push(...(await matchAll(pool, slice)))
  const winners = winnersOf(request.companies, matches)
  const results = request.companies.map(({ id }, index) => ({ id, match: lastWins(id, matches[index], winners) }))
  for (const slice of slices(results, 500, work.signal)) {
    await storeMappings(work, request.customIdentifierId, slice)
    for (const { id, match } of slice) {
      if ('companyId' in match) {
        outcome.accepted += 1
        await file.add({ [names.id]: id, [names.status]: names.mapped, [names.companyId]: match.companyId })
      } else {
        outcome.failed += 1
        await file.add({ [names.id]: id, [names.status]: names.notFound, [names.reason]: match.reason })
      }
    }
  }
  await file.end()
  if (outcome.failed > 0) outcome.generalErrors.push(`${outcome.failed} companies were not found; see the result file.`)
  return outcome
}

/** Which company each id of the request leads to in the end: that of its last entry that matches one. */
function winnersOf(companies: readonly MappingCompany[], matches: readonly Match[]): Map<string, string> {
  const winners = new Map<string, string>()
  for (const [index, match] of matches.entries()) {
    const id = companies[index]?.id
    if (id !== undefined && 'companyId' in match) winners.set(id, match.companyId)
  }
  return winners
}

function lastWins(id: string, match: Match | undefined, winners: ReadonlyMap<string, string>): Match {
  if (match === undefined) return { reason: 'The entry was not matched.' }
  if (!('companyId' in match) || winners.get(id) === match.companyId) return match
  return { reason: `A later entry of the request maps this id to another company, ${winners.get(id)}.` }
}

async function matchAll(db: Queryable, wanted: readonly MappingCompany[]): Promise<Match[]> {
  const candidates = await findCandidates(db, wanted)
  const byDetail = new Map<string, Candidate[]>()
  for (const candidate of candidates) {
    for (const detail of detailsOf(candidate)) byDetail.set(detail, [...(byDetail.get(detail) ?? []), candidate])
  }
  return wanted.map((company) => {
    if (company.id.trim() === '') return { reason: 'The id is blank.' }
    if (!isStorable(company.id)) return { reason: 'The id holds a character that cannot be stored.' }
    if (company.id.length > maxIdentifierLength) return { reason: `The id is longer than ${maxIdentifierLength}.` }
    const key = company.name === null ? null : nameKey(company.name)
    const details = detailsOf({ hotelCode: company.hotelCode, bookingId: company.bookingId, nameKey: key })
    return matchCompany(company, [...new Set(details.flatMap((detail) => byDetail.get(detail) ?? []))])
  })
}

function detailsOf(of: { hotelCode: string | null; bookingId: string | null; nameKey: string | null }): string[] {
  const details = [
    of.hotelCode !== null && `code ${of.hotelCode}`,
    of.bookingId !== null && `booking ${of.bookingId}`,
    of.nameKey !== null && `name ${of.nameKey}`,
  ]
  return details.filter((detail) => detail !== false)
}

async function findCandidates(db: Queryable, wanted: readonly MappingCompany[]): Promise<Candidate[]> {
  const given = (details: (string | null)[]) => details.filter((detail) => detail !== null).filter(isStorable)
  const { rows } = await db.query<Candidate>(
    `select id, name_key as "nameKey", latitude, longitude, country_code as "countryCode",
            hotel_code as "hotelCode", booking_id as "bookingId"
     from sandbox.company where hotel_code = any($1) or booking_id = any($2) or name_key = any($3)`,
    [
      given(wanted.map((company) => company.hotelCode)),
      given(wanted.map((company) => company.bookingId)),
      given(wanted.map((company) => (company.name === null ? null : nameKey(company.name)))),
    ],
  )
  return rows
}

async function storeMappings(
  work: Work,
  propertyId: string,
  results: readonly { id: string; match: Match }[],
): Promise<void> {
  const companyByValue = new Map<string, string>()
  for (const { id, match } of results) if ('companyId' in match) companyByValue.set(id, match.companyId)
  if (companyByValue.size === 0) return
  const group = work.sandbox.world.groups.find(({ profileId }) => profileId === work.profileId)
  const companyIds = [...companyByValue.values()]
  await inTransaction(work.sandbox.pool, async (client) => {
    await client.query(
      `insert into sandbox.identifier as known (property_id, value, company_id, changed_at)
       select $1, value, company_id, $4 from unnest($2::text[], $3::uuid[]) as mapped (value, company_id)
       order by value collate "C"
       on conflict (property_id, value) do update set company_id = excluded.company_id, changed_at = excluded.changed_at
       where known.company_id <> excluded.company_id`,
      [propertyId, [...companyByValue.keys()], companyIds, new Date(work.sandbox.clock.now())],
    )
    if (!group) return
    await client.query(
      `insert into sandbox.group_company (group_id, company_id)
       select distinct $1::uuid, company_id from unnest($2::uuid[]) as mapped (company_id) order by company_id
       on conflict do nothing`,
      [group.id, companyIds],
    )
  })
}
