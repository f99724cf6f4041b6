import { describe, expect, it, test } from 'vitest'
import { ContractError, loadContract } from '../../src/exchange/contract.ts'
import { commentedKinds, contractFileWith, contractFileWithText } from '../helpers/contract-file.ts'

const plain = {
  endpoint: { method: 'POST', path: '/any', source: 'assumed' },
  taskName: { kind: 'Any', requestType: 'AnyType', source: 'assumed' },
  stream: 'things',
  columns: ['partner_id', 'value'],
  body: { list: 'items', element: { id: { $column: 'partner_id' }, value: { $column: 'value' } } },
  outcomes: 'error_rows',
}
const element = (value: unknown) => ({ ...plain, body: { list: 'items', element: value } })

function problems(kinds: unknown): string[] {
  try {
    loadContract(contractFileWith(kinds))
  } catch (error) {
    if (!(error instanceof ContractError)) throw error
    return error.message.split('\n').slice(1)
  }
  throw new Error('the contract was accepted')
}

describe('the kinds of a contract', () => {
  it('the kinds of a contract are none in the file that comes with Nightferry', () => {
    expect(loadContract(contractFileWith({})).kinds).toEqual([])
  })

  it('may be left out: a contract file of an earlier version says nothing of them', () => {
    expect(loadContract(contractFileWithText('')).kinds).toEqual([])
  })

  it('have a default for everything but what only the deployment knows', () => {
    expect(loadContract(contractFileWith({ a_kind: plain })).kinds).toEqual([
      {
        name: 'a_kind',
        endpoint: plain.endpoint,
        taskName: plain.taskName,
        stream: 'things',
        columns: ['partner_id', 'value'],
        partnerId: 'partner_id',
        key: [],
        requires: ['properties'],
        partitionBy: null,
        rows: { default: 1000, maximum: 1000 },
        body: {
          head: { is: 'object', members: [] },
          list: 'items',
          element: {
            is: 'object',
            members: [
              ['id', { is: 'column', column: 'partner_id', as: 'text', optional: false }],
              ['value', { is: 'column', column: 'value', as: 'text', optional: false }],
            ],
          },
          inner: null,
        },
        outcomes: 'error_rows',
      },
    ])
  })

  it('load as the comments of config/contract.yaml show them', () => {
    const [kind, ...more] = loadContract(contractFileWithText(commentedKinds())).kinds
    expect(more).toEqual([])
    expect(kind).toMatchObject({ name: 'supplier_certificates', rows: { default: 1000, maximum: 10_000 } })
    expect(kind?.outcomes).toMatchObject({ accepted: ['Stored', 'Unchanged'], rejected: ['Refused'], companyId: null })
  })

  it('the kinds of a contract are among the assumptions of the contract as far as they are assumed', () => {
    const { assumed } = loadContract(
      contractFileWith({ a_kind: { ...plain, taskName: { ...plain.taskName, source: 'public' } } }),
    )
    expect(assumed).toContain('kinds.a_kind.endpoint')
    expect(assumed).not.toContain('kinds.a_kind.taskName')
  })

  it.each<[string, unknown, string]>([
    ['a name that is no snake_case', { aKind: plain }, 'kinds.aKind: is no name in snake_case'],
    ['a column that is no name', { k: { ...plain, columns: ['partner_id', 'a b'] } }, 'kinds.k.columns.1: is no name'],
    ['no column for the property', { k: { ...plain, columns: ['value'] } }, 'kinds.k.partnerId: partner_id is none of'],
    [
      'a column twice',
      { k: { ...plain, columns: ['partner_id', 'value', 'value'] } },
      'kinds.k.columns.2: value is named',
    ],
    [
      'a key of no column',
      { k: { ...plain, key: ['value', 'scheme'] } },
      'kinds.k.key.1: scheme is none of the columns',
    ],
    [
      'a partition by no column',
      { k: { ...plain, partitionBy: 'x' } },
      'kinds.k.partitionBy: x is none of the columns',
    ],
    [
      'a path with a query',
      { k: { ...plain, endpoint: { ...plain.endpoint, path: '/any?mode=merge' } } },
      'kinds.k.endpoint.path: has a ? or a #',
    ],
    ['a member that is not known', { k: { ...plain, colums: [] } }, 'kinds.k: Unrecognized key: "colums"'],
    ['no element', { k: { ...plain, body: { list: 'items' } } }, 'kinds.k.body.element: must be an object'],
    ['an element that is a list', { k: element([]) }, 'kinds.k.body.element: must be an object'],
    ['an element that is a value of its own', { k: element({ $column: 'value' }) }, 'kinds.k.body.element: must be'],
    [
      'a column that is none',
      { k: element({ a: { $column: 'valeu' } }) },
      'kinds.k.body.element.a.$column: names no column',
    ],
    [
      'a type that is none',
      { k: element({ a: [{ $column: 'value', as: 'int' }] }) },
      'kinds.k.body.element.a.0.as: is none of',
    ],
    [
      'a setting that is secret',
      { k: element({ a: { $setting: 'apiKey' } }) },
      'element.a.$setting: is none of the settings',
    ],
    [
      'a setting with a type',
      { k: element({ a: { $setting: 'groupId', as: 'number' } }) },
      'is a column and a setting at once',
    ],
    [
      'a placeholder of another kind',
      { k: element({ a: { $env: 'HOME' } }) },
      'element.a.$env: is no part of a placeholder',
    ],
    [
      'a word that is no part',
      { k: element({ a: { $column: 'value', or: 1 } }) },
      'element.a.or: is no part of a placeholder',
    ],
    [
      'an optional that is neither',
      { k: element({ a: { $column: 'value', optional: 1 } }) },
      'a.optional: must be true or false',
    ],
    [
      'a number that YAML has altered',
      { k: element({ a: 2 ** 60 }) },
      'kinds.k.body.element.a: is no number that JSON keeps',
    ],
    [
      'a head that holds what differs from row to row',
      { k: { ...plain, body: { ...plain.body, head: { a: { $column: 'value' } } } } },
      'kinds.k.body.head.a.$column: names no column that can stand here: none can',
    ],
    [
      'an element of a property that holds what differs from row to row',
      { k: { ...plain, body: { ...plain.body, inner: { list: 'inner', element: {} } } } },
      'kinds.k.body.element.value.$column: names no column that can stand here: partner_id',
    ],
    [
      'a list beside a member of its name',
      { k: { ...plain, body: { ...plain.body, head: { items: 1 } } } },
      'kinds.k.body.list: items is a member of the head too',
    ],
    [
      'an inner list beside a member of its name',
      { k: { ...plain, body: { list: 'items', element: { inner: 1 }, inner: { list: 'inner', element: {} } } } },
      'kinds.k.body.inner.list: inner is a member of the element too',
    ],
    [
      'more rows than the maximum',
      { k: { ...plain, rows: { default: 9, maximum: 8 } } },
      'kinds.k.rows.default: is more',
    ],
    ['outcomes of another kind', { k: { ...plain, outcomes: 'none' } }, 'kinds.k.outcomes: is neither error_rows nor'],
    [
      'a result file without statuses',
      { k: { ...plain, outcomes: { resultFile: { list: 'a' } } } },
      'kinds.k.outcomes',
    ],
  ])('the kinds of a contract are refused for %s, with the place', (_why, kinds, problem) => {
    expect(problems(kinds).join('\n')).toContain(problem)
  })

  it('the kinds of a contract are refused for a template that contains itself, however often', () => {
    const file = contractFileWithText(
      `kinds: { k: ${JSON.stringify(plain).replace('"element":{', '"element": &e { "again": [*e, *e, *e], ')} }`,
    )
    expect(() => loadContract(file)).toThrow('kinds.k.body.element.again.2: contains itself')
  })

  it('the kinds of a contract are refused with every problem at once', () => {
    expect(problems({ k: { ...element({ a: { $column: 'b' }, c: { $setting: 'd' } }), key: ['e'] } })).toHaveLength(3)
  })
})

test('a contract that is no YAML is told with its place, and without what stands there', () => {
  const file = contractFileWithText('kinds: *planted')
  expect(() => loadContract(file)).toThrow(/: line \d+, column 8: an alias that has no anchor before it/)
  expect(() => loadContract(file)).not.toThrow('planted')
})
