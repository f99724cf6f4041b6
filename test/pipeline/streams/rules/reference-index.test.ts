import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { checkRow } from '../../../../src/pipeline/preflight/preflight.ts'
import { loadAnswerTypes, referenceIndexOf } from '../../../../src/pipeline/streams/rules/reference-index.ts'
import { openLedger } from '../../../db/ledger/ledger.ts'
import { contract } from '../../../exchange/test-client.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { dataPoint, ids } from '../../push/rows.ts'

const ledger = await ofThisFile(openLedger())
const strange = '11111111-1111-4111-8111-111111111111'

describe('the types of answers', () => {
  const store = async (valueType: string): Promise<void> => {
    const document = JSON.stringify({ dataPoints: [{ ...dataPoint(ids.number.toUpperCase()), valueType }] })
    await sql`
      insert into reference_data (kind, id, document, fetched_at, changed_at, version)
      values ('framework', ${ids.framework}, ${document}, '2026-11-20', '2026-11-20', 1)
      on conflict (kind, id) do update set document = excluded.document`.execute(ledger.db)
  }
  const load = () => loadAnswerTypes(ledger.pool, ledger.db)

  it('the types of answers are read once while the frameworks stay as they are', async () => {
    await store('Number')
    const first = await load()
    expect([...first.dataPoints]).toEqual([[ids.number, { valueType: 'Number' }]])
    expect(await load()).toBe(first)
    await store('Text')
    expect([...(await load()).dataPoints]).toEqual([[ids.number, { valueType: 'Text' }]])
    await ledger.db.deleteFrom('reference_data').execute()
    expect([...(await load()).dataPoints]).toEqual([])
  })
})

describe('a hint', () => {
  it('a hint of an id that many rows have is looked for once', () => {
    const index = referenceIndexOf({
      frameworks: [
        { id: ids.framework, title: 'F', questionIds: [], dataPoints: [ids.number, ids.list].map(dataPoint) },
      ],
    })
    let walks = 0
    const dataPoints = new Map(index.dataPoints)
    const keys = dataPoints.keys.bind(dataPoints)
    dataPoints.keys = () => {
      walks++
      return keys()
    }
    const content = { property_id: 'H', data_point_id: strange, period_type: 'Yearly', year: '2025', value: '1' }
    const judge = (data_point_id: string) =>
      checkRow(contract, { ...index, dataPoints }, 'framework_answers', 'H', { ...content, data_point_id })
    const near = ids.number.replace(/.$/, 'f')
    expect(judge(near)).toMatch(/is close to it$/)
    const said = Array.from({ length: 100 }, () => [judge(strange), judge(near)])
    expect(new Set(said.flat()).size).toBe(2)
    expect(walks).toBe(2)
  })
})
