import { describe, expect, test } from 'vitest'
import { allChecks, checksInOrder } from '../../src/conformance/checks/all-checks.ts'
import { outline, outlineEntries } from '../../src/conformance/outline.ts'

/**
 * How many statements stand under each heading of the specification: table rows, numbered items, bullets, and remarks
 * that something is not shown. A bullet or item that is nothing but such a remark counts as a remark.
 */
const counted: Record<string, { row?: number; item?: number; bullet?: number; open?: number }> = {
  Introduction: {},
  'What the service does': { row: 7, item: 8, bullet: 8 },
  'Task (bulk request)': { bullet: 5, open: 1 },
  'Company mapping request (input)': { bullet: 3, open: 1 },
  'Framework answers upsert request (input)': { bullet: 8, open: 1 },
  'Calculator upsert request (input)': { bullet: 4, open: 1 },
  'Reference records': { open: 1 },
  'Calculator search result page': { row: 13 },
  Webhook: { row: 7 },
  'Task statuses': { row: 10, open: 1 },
  'Application statuses': { open: 2 },
  Endpoints: { row: 11, bullet: 1, open: 9 },
  Authentication: { item: 7, open: 1 },
  Events: {},
  Topics: { row: 9, bullet: 4 },
  Envelope: { row: 13 },
  'Application event behaviour': { bullet: 2 },
  Signature: { row: 3, item: 4 },
  'Delivery and retries': { row: 8 },
  Errors: { row: 6, bullet: 3, open: 3 },
  Limits: { row: 10, open: 2 },
  Versioning: { row: 11, item: 2, bullet: 9 },
}

describe('the outline', () => {
  test('has every table row, numbered item, bullet and open name of each section', () => {
    const found = outline.map(({ heading, entries }) => {
      const forms: Record<string, number> = {}
      for (const { form } of entries) if (form !== 'text') forms[form] = (forms[form] ?? 0) + 1
      return [heading, forms]
    })
    expect(found).toEqual(Object.entries(counted))
  })

  test('names each statement once, and says in a short sentence what it is', () => {
    const ids = outlineEntries.map(({ id }) => id)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
    expect(ids.filter((id) => !/^[a-z]+(-[a-z]+)*(\/[a-z0-9]+(-[a-z0-9]+)*)+$/.test(id))).toEqual([])
    expect(outlineEntries.filter(({ rule }) => rule.length < 6 || rule.length > 100)).toEqual([])
  })

  test('has a check for each statement, and no check for anything else', () => {
    const ids = outlineEntries.map(({ id }) => id)
    expect(Object.keys(allChecks).toSorted()).toEqual(ids.toSorted())
    expect(
      checksInOrder(ids)
        .map(([id]) => id)
        .toSorted(),
    ).toEqual(ids.toSorted())
  })
})
