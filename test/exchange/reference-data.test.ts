import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AnswerFormatError } from '../../src/exchange/errors.ts'
import {
  decodeCustomProperties,
  decodeFramework,
  decodeFrameworks,
  decodeGroups,
  decodeUnitTypes,
} from '../../src/exchange/reference-data.ts'
import { monthName, monthNumber } from '../../src/exchange/wire-value.ts'
import { contract } from './test-client.ts'

describe('reference data', () => {
  it('reads unit types with their units and skips what has no id', () => {
    const json = [
      {
        id: 'e',
        name: 'Energy',
        units: [{ id: 'kwh', name: 'Kilowatt hour', abbreviation: 'kWh', factor: 1 }, { name: 'lost' }],
      },
      { name: 'no id' },
      { id: 7 },
    ]
    expect(decodeUnitTypes(contract, json)).toEqual([
      { id: 'e', name: 'Energy', units: [{ id: 'kwh', name: 'Kilowatt hour', abbreviation: 'kWh' }] },
      { id: '7', name: '', units: [] },
    ])
  })

  it('holds a custom property for no identifier unless it says so', () => {
    const json = [
      { id: 'a', name: 'A', type: 'String', isIdentifier: true, ownerName: 'Us' },
      { id: 'b', name: 'B', isIdentifier: 'yes' },
    ]
    expect(decodeCustomProperties(contract, json)).toEqual([
      { id: 'a', name: 'A', type: 'String', isIdentifier: true, isOwnedByInvokingCompany: null, ownerName: 'Us' },
      { id: 'b', name: 'B', type: null, isIdentifier: false, isOwnedByInvokingCompany: null, ownerName: null },
    ])
  })

  it('reads groups and frameworks', () => {
    expect(decodeGroups(contract, [{ id: 'g', name: 'G' }])).toEqual([{ id: 'g', name: 'G' }])
    expect(decodeFrameworks(contract, [{ id: 'f', title: 'F' }])).toEqual([{ id: 'f', title: 'F' }])
  })

  it('skips what has an id that no index could hold', () => {
    const [longest, longer] = ['x'.repeat(200), 'x'.repeat(201)]
    const json = [{ id: longer }, { id: longest }]
    for (const decode of [decodeUnitTypes, decodeGroups, decodeCustomProperties, decodeFrameworks]) {
      expect(decode(contract, json).map(({ id }) => id)).toEqual([longest])
    }
  })

  it.each([decodeUnitTypes, decodeGroups, decodeCustomProperties, decodeFrameworks])(
    '%o refuses an answer that is no list',
    (decode) => {
      expect(() => decode(contract, { items: [] })).toThrow(AnswerFormatError)
    },
  )
})

describe('decodeFramework', () => {
  const energy = {
    id: 'd1',
    valueType: 'Number',
    reportingPeriodType: 'Any',
    unitTypes: [{ id: 'not a unit', units: [{ id: 'kwh' }, { id: 'mwh' }] }],
  }
  const list = {
    id: 'd2',
    valueType: 'List',
    options: [{ id: 'o1', questions: [{ id: 'q3', dataPoints: [{ id: 'd3', valueType: 'Text' }] }] }, { id: 'o2' }],
  }
  const framework = {
    id: 'f',
    title: 'Framework',
    topics: [
      {
        id: 't',
        subtopics: [
          {
            id: 's',
            clusters: [
              {
                id: 'c',
                questions: [
                  { id: 'q1', dataPoints: [energy] },
                  { id: 'q2', dataPoints: [list] },
                ],
              },
            ],
          },
        ],
      },
    ],
  }

  it('finds questions, data points, units and options in document order', () => {
    expect(decodeFramework(contract, framework)).toEqual({
      id: 'f',
      title: 'Framework',
      questionIds: ['q1', 'q2', 'q3'],
      dataPoints: [
        {
          id: 'd1',
          valueType: 'Number',
          reportingPeriodType: 'Any',
          unitIds: ['kwh', 'mwh'],
          optionIds: [],
          questionId: 'q1',
        },
        {
          id: 'd2',
          valueType: 'List',
          reportingPeriodType: null,
          unitIds: [],
          optionIds: ['o1', 'o2'],
          questionId: 'q2',
        },
        { id: 'd3', valueType: 'Text', reportingPeriodType: null, unitIds: [], optionIds: [], questionId: 'q3' },
      ],
      titles: {},
      raw: framework,
    })
  })

  it('keeps what questions, data points and options are called, and nothing else', () => {
    const titled = {
      id: 'f',
      title: 'Framework',
      topics: [
        {
          id: 't',
          title: 'Topic',
          questions: [
            {
              id: 'q',
              title: 'Which?',
              dataPoints: [{ id: 'd', title: 'Sources', options: [{ id: '__proto__', title: 'Solar' }, { id: 'o' }] }],
            },
          ],
        },
      ],
    }
    expect(Object.entries(decodeFramework(contract, titled).titles)).toEqual([
      ['q', 'Which?'],
      ['d', 'Sources'],
      ['__proto__', 'Solar'],
    ])
  })

  it('finds them wherever they stand', () => {
    const flat = {
      id: 'f',
      anything: [
        {
          deeper: {
            questions: [{ id: 'q', group: { dataPoints: [{ id: 'd', answer: { options: ['o1', { id: 'o2' }] } }] } }],
          },
        },
      ],
    }
    expect(decodeFramework(contract, flat)).toMatchObject({
      questionIds: ['q'],
      dataPoints: [{ id: 'd', questionId: 'q', optionIds: ['o1', 'o2'] }],
    })
  })

  it('indexes a data point that stands twice once, with the options of both', () => {
    const twice = {
      id: 'f',
      questions: [
        {
          id: 'q',
          dataPoints: [
            { id: 'd', options: [{ id: 'a' }] },
            { id: 'd', options: [{ id: 'a' }, { id: 'b' }] },
          ],
        },
      ],
    }
    expect(decodeFramework(contract, twice).dataPoints).toMatchObject([{ id: 'd', optionIds: ['a', 'b'] }])
  })

  it('holds a data point outside any question for one without a question', () => {
    expect(decodeFramework(contract, { id: 'f', dataPoints: [{ id: 'd' }] }).dataPoints[0]?.questionId).toBeNull()
  })

  it('refuses a framework a million levels deep without running out of stack', () => {
    const deep: unknown = JSON.parse(`{"id":"f","topics":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`)
    expect(() => decodeFramework(contract, deep)).toThrow(AnswerFormatError)
  })

  it.each([[null], [[]], [{ title: 'no id' }]])('refuses %j, which is no framework', (json) => {
    expect(() => decodeFramework(contract, json)).toThrow(AnswerFormatError)
  })

  it('either reads any JSON or refuses it as malformed', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (json) => {
        try {
          decodeFramework(contract, json)
        } catch (error) {
          expect(error).toBeInstanceOf(AnswerFormatError)
        }
      }),
    )
  })
})

describe('month names', () => {
  it('reads what it writes for every month', () => {
    for (let month = 1; month <= 12; month++) expect(monthNumber(monthName(month))).toBe(month)
  })

  it('reads any case and writes the exact spelling', () => {
    expect(['march', 'MARCH', 'mArCh'].map(monthNumber)).toEqual([3, 3, 3])
    expect(monthName(3)).toBe('March')
  })

  it.each(['Mar', 'Marchh', '3', '', ' March', 'März'])('reads no month in %j', (text) => {
    expect(monthNumber(text)).toBeUndefined()
  })

  it.each([0, 13, 1.5, Number.NaN])('writes no name for %d', (month) => {
    expect(() => monthName(month)).toThrow(RangeError)
  })
})
