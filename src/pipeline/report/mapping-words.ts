import type { mappingsMovedIn } from '../../db/ledger/store-mappings.ts'

/** Hotels that became another company, as a notice of the report. Pure. */
export function mappingNotices({ moved, total }: Awaited<ReturnType<typeof mappingsMovedIn>>): string[] {
  const notices = moved.map(
    ({ partner_id, company_before, company_id, rows }) =>
      `${partner_id} is company ${company_id} now, and was ${company_before}: ${rows} accepted rows became pending and were to be sent again. The old company still holds them: nightferry drift lists it.`,
  )
  if (total > moved.length) notices.push(`${total - moved.length} more hotels became another company: mapping_changes.`)
  return notices
}
