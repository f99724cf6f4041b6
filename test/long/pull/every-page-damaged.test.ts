import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { SamplePage } from '../../pipeline/pull/sample-page.ts'
import {
  bothWays,
  everyCalculator,
  everyCompany,
  everyValue,
  type Mark,
  openNights,
  whole,
} from '../../pipeline/pull/search-nights.ts'

const { database, db, night, known, marks, clear } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(clear)

/** Each with what it marks: 40 values, 24 property values and 16 calculators of 8 companies are known. */
const damages: [string, (page: SamplePage) => unknown, Mark[]][] = [
  [
    'lacks the list of variables',
    ({ calculatorVariables: _, ...page }) => page,
    [{ part: 'value', reason: 'variable_not_listed', withheld: false, parts: 40 }],
  ],
  [
    'has an empty list of variables',
    (page) => ({ ...page, calculatorVariables: [] }),
    [{ part: 'value', reason: 'variable_not_listed', withheld: false, parts: 40 }],
  ],
  [
    'has null for every value',
    (page) => everyValue(page, null),
    [{ part: 'value', reason: 'no_text', withheld: false, parts: 40 }],
  ],
  [
    'has a number for every value',
    (page) => everyValue(page, 12.5),
    [{ part: 'value', reason: 'no_text', withheld: false, parts: 40 }],
  ],
  [
    'has a blank for every value',
    (page) => everyValue(page, ' '),
    [{ part: 'value', reason: 'blank', withheld: false, parts: 40 }],
  ],
  [
    'lacks all inputs and outputs',
    (page) => everyCalculator(page, { inputs: undefined, outputs: undefined }),
    [
      { part: 'value', reason: 'too_few_inputs', withheld: true, parts: 24 },
      { part: 'value', reason: 'too_few_outputs', withheld: true, parts: 16 },
    ],
  ],
  [
    'lacks all inputs and has all outputs',
    (page) => everyCalculator(page, { inputs: undefined }),
    [{ part: 'value', reason: 'too_few_inputs', withheld: true, parts: 24 }],
  ],
  [
    'has null for all outputs',
    (page) => everyCalculator(page, { outputs: null }),
    [{ part: 'value', reason: 'no_object', withheld: false, parts: 16 }],
  ],
  [
    'has a text for all outputs',
    (page) => everyCalculator(page, { outputs: 'x' }),
    [{ part: 'calculator', reason: 'no_object', withheld: false, parts: 16 }],
  ],
  [
    'lacks the list of custom properties',
    ({ customProperties: _, ...page }) => page,
    [{ part: 'property', reason: 'property_not_listed', withheld: false, parts: 24 }],
  ],
  [
    'lacks the custom properties, and the companies theirs',
    ({ customProperties: _, ...page }) => everyCompany(page, { fields: undefined }),
    [{ part: 'property', reason: 'property_left_out', withheld: true, parts: 24 }],
  ],
  [
    'lists the custom properties, and no company has one',
    (page) => everyCompany(page, { fields: undefined }),
    [{ part: 'property', reason: 'too_few_properties', withheld: true, parts: 24 }],
  ],
  [
    'has null for the fields of every company',
    (page) => everyCompany(page, { fields: null }),
    [{ part: 'property', reason: 'no_object', withheld: false, parts: 24 }],
  ],
  [
    'has null in place of one value of every list',
    (page) => everyCompany(page, { fields: { brand: [null, 'new'], rooms: ['99', 5] } }),
    [{ part: 'property', reason: 'no_text', withheld: false, parts: 24 }],
  ],
  [
    'has no calculators',
    (page) => everyCompany(page, { calculators: [] }),
    [{ part: 'calculator', reason: 'too_few_calculators', withheld: true, parts: 16 }],
  ],
  [
    'has null for the calculators of every company',
    (page) => everyCompany(page, { calculators: null }),
    [{ part: 'company', reason: 'no_array', withheld: false, parts: 8 }],
  ],
  [
    'has calculators without an id',
    (page) => everyCalculator(page, { id: null }),
    [{ part: 'calculator', reason: 'unidentified_calculators', withheld: false, parts: 16 }],
  ],
  [
    'has no companies',
    () => ({ companies: [] }),
    [{ part: 'company', reason: 'too_few_companies', withheld: true, parts: 8 }],
  ],
  [
    'has companies without an id',
    (page) => everyCompany(page, { id: null }),
    [{ part: 'company', reason: 'unidentified_companies', withheld: false, parts: 8 }],
  ],
  [
    'has null for every name',
    (page) =>
      JSON.parse(
        JSON.stringify(page, (key, value: unknown) => (key === 'name' || key === 'title' ? null : value)),
      ) as unknown,
    [
      { part: 'calculator_title', reason: 'no_text', withheld: false, parts: 16 },
      { part: 'company_name', reason: 'no_text', withheld: false, parts: 8 },
      { part: 'property_name', reason: 'no_text', withheld: false, parts: 2 },
      { part: 'variable_name', reason: 'no_text', withheld: false, parts: 3 },
    ],
  ],
]

describe.each(bothWays)('a search loaded %s', (_way, how) => {
  it.each(damages)(
    'a search of which every page %s removes nothing that is known, and marks it',
    async (_name, damage, marked) => {
      await night(whole(), how)
      const before = await known()
      expect([before.values, before.properties].map((rows) => rows.length)).toEqual([40, 24])
      await night(whole().map(damage), how)
      expect(await known()).toEqual(before)
      expect(await marks()).toEqual(marked)
      // The same again says nothing new; and a night that is right takes the marks off.
      await night(whole().map(damage), how)
      expect(await marks()).toEqual(marked)
      await night(whole(), how)
      expect(await marks()).toEqual([])
      expect(await known()).toEqual(before)
      expect(await db.selectFrom('removals').selectAll().execute()).toEqual([])
    },
  )
})
