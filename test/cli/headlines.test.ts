import { expect, test } from 'vitest'
import { headlines } from '../../src/cli/show/row-words.ts'
import type { PartnerTrace, TracedCompany } from '../../src/db/trace/trace-partner.ts'

const company: TracedCompany = {
  company_id: '00000000-0000-4000-8000-000000000001',
  mapped_at: new Date(0),
  mapped_by_submission: 1,
  name: null,
  changed_at: null,
  removed_at: null,
  calculators: 0,
  removed_calculators: 0,
  newest_calculator_change: null,
  not_renewed_since: null,
  not_renewed_reason: null,
  unrenewed_calculators: 0,
  calculators_not_renewed_since: null,
  searched_at: null,
  other_hotels: [],
}

test.each<[string, Partial<TracedCompany>, string]>([
  ['was on no page yet', {}, 'No search has returned its company yet.'],
  ['came back without a name that can be read', { changed_at: new Date(1) }, '0 calculators came back.'],
  [
    'has no name and is not returned any more',
    { changed_at: new Date(1), removed_at: new Date(2) },
    'The last searches no longer return its company.',
  ],
])('the first sentences of a trace say so where the company %s', (_what, over, sentence) => {
  const trace = { company: { ...company, ...over }, suspended: null, rows: [], differences: [], row_differences: [] }
  expect(headlines({ ...trace, more: {} } as unknown as PartnerTrace, [])).toContain(sentence)
})
