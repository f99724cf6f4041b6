import { describe, expect, it } from 'vitest'
import type { Contract } from '../../../../src/exchange/contract.ts'
import { checkRow } from '../../../../src/pipeline/preflight/preflight.ts'
import { kindOf, requestOf, taskNamesOf } from '../../../../src/pipeline/push/kinds.ts'
import { kindNamesOf } from '../../../../src/pipeline/streams/kind-names.ts'
import { checkKinds, needsGroup } from '../../../../src/pipeline/streams/our-streams.ts'
import { contract } from '../../../exchange/test-client.ts'
import { reference } from '../rows.ts'
import { described } from './kinds.ts'

const things = described({})
const withKinds = (...kinds: Contract['kinds']): Contract => ({ ...contract, kinds })

describe('the kinds of a contract beside ours', () => {
  it('the kinds of a contract beside ours are told apart by their names and streams', () => {
    const more = { ...things, name: 'others', stream: 'other_things', requires: ['things', 'standard_holders'] }
    expect(() => checkKinds('contract.yaml', withKinds(things, more))).not.toThrow()
  })

  it.each([
    [{ name: 'calculators' }, 'kinds.calculators: is the name of a kind that Nightferry has'],
    [{ name: 'calculators_search' }, 'kinds.calculators_search: is the name of a kind'],
    [{ stream: 'omissions' }, 'kinds.things.stream: omissions is a stream that Nightferry has'],
    [
      { requires: ['properties', 'hotels'] },
      'kinds.things.requires.1: hotels is no other stream; there are properties, ',
    ],
    [{ requires: ['things'] }, 'kinds.things.requires.0: things is no other stream'],
  ])('the kinds of a contract beside ours are refused with %j', (part, problem) => {
    expect(() => checkKinds('contract.yaml', withKinds({ ...things, ...part }))).toThrow(problem)
  })

  it('the kinds of a contract beside ours are refused when two of them carry one stream', () => {
    const again = { ...things, name: 'again' }
    expect(() => checkKinds('contract.yaml', withKinds(things, again))).toThrow(
      'kinds.again.stream: things travels in kinds.things already',
    )
  })

  it('the kinds of a contract beside ours are planned after ours, sent to their own endpoint and recognised by their own task name', () => {
    const added = withKinds(things)
    expect(kindNamesOf(added).at(-1)).toBe('things')
    expect(requestOf(added, 'things')).toMatchObject({ endpoint: { path: '/things' } })
    expect(requestOf(added, 'calculators').endpoint).toBe(contract.endpoints.calculatorsUpsert)
    expect(taskNamesOf(added).map(({ requestType }) => requestType)).toContain('BulkUpsertThings')
    expect(kindOf(added, 'things').streams).toEqual(['things'])
  })

  it('stop a run that has submissions of a kind which nobody describes any more', () => {
    for (const ask of [kindOf, requestOf]) {
      expect(() => ask(contract, 'things')).toThrow(expect.objectContaining({ code: 'kind_unknown' }))
    }
  })

  it('need the group only where a stream that is read has its id in the body', () => {
    const grouped = described({ body: { head: { g: { $setting: 'groupId' } }, list: 'items', element: {} } })
    const optional = described({
      body: {
        list: 'items',
        element: {},
        inner: { list: 'x', element: { g: [{ $setting: 'groupId', optional: true }] } },
      },
    })
    const stream = { things: {} }
    expect(needsGroup(withKinds(grouped), stream)).toBe(true)
    expect(needsGroup(withKinds(grouped), {})).toBe(false)
    expect(needsGroup(withKinds(optional), stream)).toBe(false)
    expect(needsGroup(withKinds(things), stream)).toBe(false)
  })
})

describe('a row of an added stream', () => {
  const kind = described({
    partitionBy: 'c',
    body: {
      head: { set: { $column: 'c' } },
      list: 'items',
      element: { id: { $column: 'partner_id' } },
      inner: { list: 'values', element: { a: { $column: 'a', as: 'number' }, b: { $column: 'b', optional: true } } },
    },
  })
  const check = (content: Record<string, unknown>, partnerId = 'H-1') =>
    checkRow(withKinds(kind), reference, 'things', partnerId, content)

  it('a row of an added stream is sent when every placeholder can be filled', () => {
    expect(check({ a: '1', c: 'x' })).toBeNull()
  })

  it.each<[Record<string, unknown>, string]>([
    [{ c: 'x' }, 'a is empty'],
    [{ a: 'many', c: 'x' }, "a 'many' is no number"],
    [{ a: '1' }, 'c is empty'],
    [{ a: '1', c: '' }, 'c is empty'],
  ])('a row of an added stream is invalid with %j, with a reason', (content, reason) => {
    expect(check(content)).toBe(reason)
  })

  it('a row of an added stream is invalid without a partner id, like any other', () => {
    expect(check({ a: '1', c: 'x' }, ' ')).toBe('partner_id is empty')
  })

  it('a row of an added stream is invalid once no kind carries its stream any more', () => {
    expect(checkRow(contract, reference, 'things', 'H-1', {})).toContain('no kind of request carries the stream things')
  })
})
