import type { AbsenceCause, DifferenceKind, InputDifference } from '../../db/tables/difference-tables.ts'
import { shortened } from './readable.ts'

/** What to do about each kind. */
export const differenceWords: Record<DifferenceKind, string> = {
  absent:
    'Absent: the service accepted them and does not show them. Ask its operators, with the submission; nightferry trace <hotel> has the correlation id. What changes at its source is sent again.',
  different:
    'Different: somebody else wrote them, such as another integration or a person, or the service altered them. Settle who is right: what changes at its source is sent again, and what is right at the service is fixed at its source.',
  foreign:
    'Foreign: another integration, a person or an earlier system wrote them. If they are wrong, fix them in the web application.',
}

const causes: Record<AbsenceCause, string> = {
  mapped_since: 'absent: mapped to this company since it was accepted',
  company_not_returned: 'absent: the search does not return the company',
  period_not_returned: 'absent: no calculator of the period',
  value_not_returned: 'absent: not in the calculator of the period',
}

/** One difference in short texts. Pure. */
export function differenceRow(row: InputDifference) {
  const { kind, cause, period_year, period_month, variable_id, variable_name } = row
  return {
    period: period_month === null ? String(period_year) : `${period_year}-${String(period_month).padStart(2, '0')}`,
    input: shortened(variable_name ?? variable_id, 40),
    what: cause === null ? kind : causes[cause],
    sent: kind === 'foreign' ? null : shortened(row.sent ?? '(blank)', 40),
    stored: row.stored === null ? null : shortened(row.stored, 40),
  }
}
