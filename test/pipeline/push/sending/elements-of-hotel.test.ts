import { expect, test } from 'vitest'
import { kinds } from '../../../../src/pipeline/push/kinds.ts'
import { elementsOfHotel } from '../../../../src/pipeline/push/sending/elements-of-hotel.ts'
import { kindNames } from '../../../../src/pipeline/streams/kind-names.ts'
import { contract } from '../../../exchange/test-client.ts'
import { bodyOf, described } from '../generic/kinds.ts'
import { ids, reference } from '../rows.ts'

const context = { contract, reference, customIdentifierId: ids.identifier, groupId: ids.group, partition: '' }

/** Texts of a hotel hold what a reader that only counts brackets would stumble over. */
const odd = 'x"]}{[\\,Ü'

const contents = {
  company_mappings: { name: odd, hotel_code: 'H-2' },
  framework_answers: { period_type: 'Yearly', year: '2025', month: '7', data_point_id: ids.number, value: '1' },
  calculators: { year: '2025', month: '12', inputs: { [ids.field]: odd } },
  companies: { property_id: ids.property, value: odd },
  standard_holders: { standard_id: ids.standard, level: odd },
}

async function* inChunks(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function elementsIn(body: string, kind: string, hotel: string, size: number, of = contract): Promise<string[]> {
  const found: string[] = []
  for await (const text of elementsOfHotel(of, kind, hotel, inChunks(body, size))) found.push(text)
  return found
}

test.each(kindNames)(
  'the elements of a hotel in a body of %s are those that name it, as they were written',
  async (kind) => {
    const rows = ['H-1', 'H-2', 'H-2', 'H-20'].map((partner_id) => ({
      stream: kind === 'calculators' ? 'calculator_inputs' : (kinds[kind].streams[0] ?? ''),
      partner_id,
      content: contents[kind],
    }))
    const write = (some: typeof rows) => [...kinds[kind].writeBody(some, context)].join('')
    const whole = write(rows)
    for (const hotel of ['H-1', 'H-2', 'H-20']) {
      const alone = write(rows.filter(({ partner_id }) => partner_id === hotel))
      for (const size of [1, 7, 100_000]) {
        const found = await elementsIn(whole, kind, hotel, size)
        expect(found.length).toBeGreaterThan(0)
        expect(alone).toContain(`[${found.join(',')}]`)
        expect(whole).toContain(found.join(','))
      }
    }
    expect(await elementsIn(whole, kind, 'H-3', 7)).toEqual([])
  },
)

test('the elements of a hotel in a body of a kind that the contract adds are found by its template', async () => {
  const hotel = { $column: 'partner_id' }
  const bodies = {
    deep: { list: 'items', element: { of: [{ $column: 'a', optional: true }, { hotel }], value: { $column: 'b' } } },
    number: { list: 'items', element: { hotel: { ...hotel, as: 'number' }, value: { $column: 'b' } } },
    inner: { list: 'items', element: { hotel }, inner: { list: 'rows', element: { value: { $column: 'b' } } } },
    within: { list: 'items', element: { is: 'x' }, inner: { list: 'rows', element: { hotel, b: { $column: 'b' } } } },
  }
  for (const body of Object.values(bodies)) {
    const kind = described({ body })
    const rows = (['17', '18'] as const).map((id) => [id, { b: id === '17' ? '18' : '17' }] as const)
    const text = bodyOf(kind, rows)
    const of = { ...contract, kinds: [kind] }
    const [first, ...rest] = await elementsIn(text, 'things', '17', 5, of)
    expect({ first: bodyOf(kind, rows.slice(0, 1)), rest }).toEqual({ first: `{"items":[${first}]}`, rest: [] })
  }
})

test('a body of a kind that the contract does not know any more is told so, and not that nothing is there', async () => {
  await expect(elementsIn('{"items":[]}', 'things', '17', 5)).rejects.toMatchObject({ code: 'kind_unknown' })
})
