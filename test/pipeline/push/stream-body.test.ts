import { describe, expect, it } from 'vitest'
import { type BodyWriter, byPartner, type OutgoingRow } from '../../../src/pipeline/push/bodies.ts'
import { kinds } from '../../../src/pipeline/push/kinds.ts'
import { streamBody } from '../../../src/pipeline/push/sending/payload.ts'
import { type KindName, kindNames } from '../../../src/pipeline/streams/kind-names.ts'
import { contract } from '../../exchange/test-client.ts'
import { ids, reference } from './rows.ts'

const context = { contract, reference, customIdentifierId: ids.identifier, groupId: ids.group, partition: '' }

const contents: Record<KindName, OutgoingRow['content']> = {
  company_mappings: { name: 'A', latitude: '1', longitude: '-0.5' },
  framework_answers: { period_type: 'Yearly', year: '2025', month: '7', data_point_id: ids.number, value: '1' },
  calculators: { year: '2025', month: '12', inputs: { [ids.field]: '1' } },
  companies: { property_id: ids.property, value: 'v' },
  standard_holders: { standard_id: ids.standard },
}

/** Rows of properties with so many rows each. */
function rowsOf(kind: KindName, ...sizes: number[]): OutgoingRow[] {
  const [stream] = kinds[kind].streams as [OutgoingRow['stream']]
  return sizes.flatMap((size, at) =>
    Array.from({ length: size }, () => ({ stream, partner_id: `H-${at}`, content: contents[kind] })),
  )
}

async function* batchesOf(rows: readonly OutgoingRow[], size: number): AsyncGenerator<OutgoingRow[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
}

async function streamed(write: BodyWriter, rows: readonly OutgoingRow[], batch: number): Promise<string> {
  const pieces: string[] = []
  for await (const piece of streamBody(write, batchesOf(rows, batch), context)) pieces.push(piece)
  return pieces.join('')
}

describe.each(kindNames)('a body of %s', (kind) => {
  it.each([1, 2, 3, 4, 7, 100])('a body is the same when its rows come %i at a time', async (batch) => {
    for (const sizes of [[], [1], [3], [1, 1, 1], [2, 1, 5, 1, 1, 3], [7, 7], [1, 12]]) {
      const rows = rowsOf(kind, ...sizes)
      const whole = [...kinds[kind].writeBody(rows, context)].join('')
      expect(await streamed(kinds[kind].writeBody, rows, batch)).toBe(whole)
    }
  })
})

it('streamBody holds no more rows than the largest property and a batch on both sides', async () => {
  let read = 0
  let written = 0
  let most = 0
  async function* batches() {
    for (const rows of [...Array(50).keys()].map((at) => rowsOf('companies', ...Array(at + 1).fill(2)).slice(-2))) {
      read += rows.length
      yield rows
    }
  }
  const write: BodyWriter = function* (rows) {
    for (const [partnerId, group] of byPartner(rows)) {
      written += group.length
      most = Math.max(most, read - written)
      yield partnerId
    }
  }
  const seen: string[] = []
  for await (const piece of streamBody(write, batches(), context)) seen.push(piece)
  expect(seen).toHaveLength(50)
  expect(most).toBeLessThanOrEqual(4)
})

it('streamBody refuses a writer that reads all rows before it yields, however few there are', async () => {
  const greedy: BodyWriter = function* (rows) {
    yield String([...rows].length)
  }
  await expect(streamed(greedy, rowsOf('companies', 1, 1, 1), 100)).rejects.toThrow(/beyond one property/)
})

it('streamBody passes on what goes wrong while rows are read', async () => {
  async function* broken(): AsyncGenerator<OutgoingRow[]> {
    yield rowsOf('companies', 2, 2)
    throw new Error('the database went away')
  }
  const read = async () => {
    for await (const _ of streamBody(kinds.companies.writeBody, broken(), context));
  }
  await expect(read()).rejects.toThrow('the database went away')
})
