import { expect, it } from 'vitest'
import type { SearchReport } from '../../../src/db/runs/search-reports.ts'
import type { LeftOutProperty } from '../../../src/db/tables/submission-tables.ts'
import {
  missingPropertyLines,
  searchNotices,
  unobtainablePropertyNotices,
} from '../../../src/pipeline/report/report-words.ts'

const foreign: LeftOutProperty = { property_id: 'p1', name: 'House number', owner: 'Harbour', why: 'not_owned' }
const unknown: LeftOutProperty = { property_id: 'p2', name: null, owner: null, why: 'unknown' }
const search = (left_out_properties: LeftOutProperty[]) => ({ left_out_properties }) as SearchReport

it('the report says nothing of a search that brought what was asked for, with the names known', () => {
  expect(searchNotices([search([])], [])).toEqual([])
  expect(missingPropertyLines([], null, [])).toEqual([])
})

it('names the custom properties that were left out, whose they are, and what to do', () => {
  expect(searchNotices([search([foreign, unknown])], [])).toEqual([
    'The service left out 2 custom properties that the search asked for: "House number" (p1) belongs to Harbour; p2 is none that this key can see. Their values did not come: fix pull.customPropertyIds, or ask their owner.',
  ])
  expect(missingPropertyLines([foreign], 7, [unknown])).toEqual([
    'The service left out 1 custom property that the search of run 7 asked for: "House number" (p1) belongs to Harbour.',
    'The next search will not get 1 custom property of pull.customPropertyIds: p2 is none that this key can see.',
  ])
})

it('the report spells ten new names out and counts the rest', () => {
  const renamed = Array.from({ length: 12 }, (_, n) => ({
    kind: 'variable' as const,
    id: `v${n}`,
    before: 'a',
    after: 'b',
  }))
  const notices = searchNotices([], renamed)
  expect(notices).toHaveLength(11)
  expect(notices[0]).toBe('Variable v0 is now called "b"; it was "a".')
  expect(notices[10]).toBe('2 more names changed; the view name_changes lists them.')
})

it('the report names what a search for documents asks for in vain: what exists nowhere, and what another profile owns', () => {
  const setting = 'The search ours in pull.searches'
  expect(unobtainablePropertyNotices([{ setting, ids: ['p2'], foreign: [foreign] }])).toEqual([
    'The search ours in pull.searches names 1 custom property that the service does not list for this key: p2. Nothing comes back of it: correct the setting.',
    'The search ours in pull.searches names 1 custom property that this profile does not own: "House number" (p1) belongs to Harbour. Nothing comes back of it, so values sent are not compared: correct the setting, or ask the owner.',
  ])
})
