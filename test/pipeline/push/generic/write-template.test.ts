import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ids } from '../rows.ts'
import { bodyOf, type Content, described } from './kinds.ts'

describe('a body by a template', () => {
  it('has the members of the head, then one element per row in their order', () => {
    const kind = described({
      body: {
        head: { identifierId: { $setting: 'customIdentifierId' }, groups: [{ $setting: 'groupId' }], mode: 'replace' },
        list: 'items',
        element: {
          id: { $column: 'partner_id' },
          value: { $column: 'a', as: 'number' },
          by: { $column: 'b' },
          version: 2,
        },
      },
    })
    const rows = [
      ['H-1', { a: '1.50', b: 'x' }],
      ['H-1', { a: '2', b: 'y' }],
      ['H-2', { a: '-3', b: '' }],
    ] as const
    expect(bodyOf(kind, rows)).toBe(
      `{"identifierId":"${ids.identifier}","groups":["${ids.group}"],"mode":"replace","items":[` +
        '{"id":"H-1","value":1.5,"by":"x","version":2},' +
        '{"id":"H-1","value":2,"by":"y","version":2},' +
        '{"id":"H-2","value":-3,"by":"","version":2}]}',
    )
  })

  it('has one element per property with a list of its rows, where it is grouped', () => {
    const kind = described({
      body: {
        list: 'companies',
        element: { identifier: { $column: 'partner_id' } },
        inner: { list: 'values', element: { name: { $column: 'a' } } },
      },
    })
    const rows = [
      ['H-1', { a: 'x' }],
      ['H-1', { a: 'y' }],
      ['H-2', { a: 'z' }],
    ] as const
    expect(JSON.parse(bodyOf(kind, rows))).toEqual({
      companies: [
        { identifier: 'H-1', values: [{ name: 'x' }, { name: 'y' }] },
        { identifier: 'H-2', values: [{ name: 'z' }] },
      ],
    })
  })

  it('leaves out what is optional and absent, and an object or list of which nothing is left, but no element', () => {
    const element = {
      at: { latitude: { $column: 'a', as: 'number', optional: true }, where: [{ $column: 'b', optional: true }] },
      list: [{ $column: 'a', optional: true }, 'always'],
      empty: {},
      none: null,
    }
    const kind = described({ body: { list: 'items', element } })
    expect(JSON.parse(bodyOf(kind, [['H-1', {}]]))).toEqual({ items: [{ list: ['always'], empty: {}, none: null }] })
    expect(JSON.parse(bodyOf(kind, [['H-1', { a: '1' }]]))).toMatchObject({ items: [{ at: { latitude: 1 } }] })
    const bare = described({ body: { list: 'items', element: { a: { $column: 'a', optional: true } } } })
    expect(bodyOf(bare, [['H-1', {}]])).toBe('{"items":[{}]}')
  })

  it('has the value that its requests are kept apart by in the head, or none', () => {
    const head = { frameworkId: { $column: 'a', optional: true } }
    const kind = described({
      partitionBy: 'a',
      body: { head, list: 'items', element: { a: { $column: 'a', optional: true } } },
    })
    expect(bodyOf(kind, [['H-1', { a: 'F' }]], { partition: 'F' })).toBe('{"frameworkId":"F","items":[{"a":"F"}]}')
    expect(bodyOf(kind, [['H-1', {}]])).toBe('{"items":[{}]}')
  })

  it('a body by a template is not written without a setting that it needs', () => {
    const kind = described({ body: { head: { id: { $setting: 'groupId' } }, list: 'items', element: {} } })
    expect(() => bodyOf(kind, [], { groupId: null })).toThrow('exchange.groupId')
    const optional = { head: { id: { $setting: 'groupId', optional: true } }, list: 'items', element: {} }
    expect(bodyOf(described({ body: optional }), [], { groupId: null })).toBe('{"items":[]}')
  })
})

const hostile = [
  ...['"', '\\', '"}]}', '","admin":true,"x":"', '\u2028', '\u0000', '\ud800', '\u202e', '🏨', '</script>'],
  ...['__proto__', 'constructor', 'toJSON', '$column', '$setting', '{"$column":"b"}', '$' + '{b}', '{{b}}', '$&', '$1'],
]
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...hostile), fc.json())
const member = fc
  .oneof(fc.constantFrom('__proto__', 'constructor', '"', 'a.b', ''), fc.string())
  .filter((name) => !name.startsWith('$'))

/**
 * What a template says of a row, worked out without the code that is tested: a template as written, and as expected.
 */
type Case = { template: unknown; expected: (row: { id: string; content: Content }) => unknown }

const columnCase = fc.constantFrom('partner_id', 'a', 'b', 'c').map<Case>((column) => ({
  template: { $column: column, optional: true },
  expected: ({ id, content }) => (column === 'partner_id' ? id : content[column]),
}))
const literalCase = fc
  .oneof(text, fc.boolean(), fc.integer(), fc.constant(null))
  .map<Case>((value) => ({ template: value, expected: () => value }))
const settingCase = fc.constantFrom('customIdentifierId' as const, 'groupId' as const).map<Case>((setting) => ({
  template: { $setting: setting },
  expected: () => (setting === 'groupId' ? ids.group : ids.identifier),
}))

const emptied = (all: number, left: number) => all > 0 && left === 0

function objectCase(members: [string, Case][]): Case {
  return {
    template: Object.fromEntries(members.map(([name, { template }]) => [name, template])),
    expected: (row) => {
      const present = members
        .map(([name, { expected }]) => [name, expected(row)] as const)
        .filter(([, value]) => value !== undefined)
      return emptied(members.length, present.length) ? undefined : Object.fromEntries(present)
    },
  }
}

function listCase(items: Case[]): Case {
  return {
    template: items.map(({ template }) => template),
    expected: (row) => {
      const present = items.map(({ expected }) => expected(row)).filter((value) => value !== undefined)
      return emptied(items.length, present.length) ? undefined : present
    },
  }
}

const { object } = fc.letrec<{ any: Case; object: Case }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    columnCase,
    literalCase,
    settingCase,
    tie('object'),
    fc.array(tie('any'), { maxLength: 3 }).map(listCase),
  ),
  object: fc.uniqueArray(fc.tuple(member, tie('any')), { maxLength: 4, selector: ([name]) => name }).map(objectCase),
}))

const content = fc.record({ a: text, b: text, c: text }, { requiredKeys: [] })
const rows = fc.array(fc.record({ id: text, content }), { minLength: 1, maxLength: 5 })

it('a template puts every value where the template says, whatever rows and template hold, and nothing else', () => {
  fc.assert(
    fc.property(object, member, rows, ({ template, expected }, list, some) => {
      const kind = described({ body: { list: list || 'items', element: template } })
      const body = bodyOf(
        kind,
        some.map(({ id, content: values }) => [id, values]),
      )
      const items = some.map((row) => expected(row) ?? {})
      // As text: parsed again, members called __proto__ would be overlooked, and V8 may take an escaped key for another.
      expect(body).toBe(JSON.stringify(Object.fromEntries([[list || 'items', items]])))
    }),
    { numRuns: 1_000 },
  )
})

it('a template puts any text of a row into its place', () => {
  const kind = described({
    body: {
      head: { fixed: 'x' },
      list: 'companies',
      element: { identifier: { $column: 'partner_id' } },
      inner: { list: '__proto__', element: { v: { $column: 'a' }, more: { w: [{ $column: 'b', optional: true }] } } },
    },
  })
  const row = fc.tuple(fc.constantFrom('H-1', 'H-2'), fc.record({ a: text, b: text }, { requiredKeys: ['a'] }))
  fc.assert(
    fc.property(fc.array(row, { maxLength: 8 }), (some) => {
      const sorted = some.toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
      const companies = Object.entries(Object.groupBy(sorted, ([id]) => id)).map(([identifier, group]) => [
        ['identifier', identifier],
        ['__proto__', group.map(([, { a, b }]) => ({ v: a, ...(b !== undefined && { more: { w: [b] } }) }))],
      ])
      expect(bodyOf(kind, sorted)).toBe(
        JSON.stringify({ fixed: 'x', companies: companies.map((members) => Object.fromEntries(members)) }),
      )
    }),
    { numRuns: 2_000 },
  )
})
