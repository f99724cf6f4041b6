import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { storeReferenceData } from '../../../src/db/reference/store-reference-data.ts'
import type { ReferenceKind } from '../../../src/db/tables/reference-data.ts'
import { type Ledger, openLedger } from './ledger.ts'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger()
})
beforeEach(() => ledger.clear())
afterAll(() => ledger.close())

type Document = { id: string; name: string }
const monday = new Date('2026-11-16T02:00:00Z')
const tuesday = new Date('2026-11-17T02:00:00Z')

const store = (documents: Partial<Record<ReferenceKind, Document[]>>, at: Date) =>
  ledger.inTransaction((trx) =>
    storeReferenceData(trx, { unit_type: [], group: [], custom_property: [], framework: [], ...documents }, at),
  )
const stored = () =>
  ledger.db
    .selectFrom('reference_data')
    .select(['kind', 'id', 'document', 'changed_at'])
    .orderBy('kind')
    .orderBy('id')
    .execute()

describe('reference data', () => {
  it('are stored, changed and removed as the service lists them', async () => {
    const [a, b] = [
      { id: 'a', name: 'A' },
      { id: 'b', name: 'B' },
    ]
    expect(await store({ group: [a, b], framework: [a] }, monday)).toEqual({ stored: 3, gone: 0 })
    const renamed = { id: 'b', name: 'B, renamed' }
    expect(await store({ group: [a, renamed] }, tuesday)).toEqual({ stored: 1, gone: 1 })
    expect(await stored()).toEqual([
      { kind: 'group', id: 'a', document: a, changed_at: monday },
      { kind: 'group', id: 'b', document: renamed, changed_at: tuesday },
    ])
  })

  it('that did not change are not written', async () => {
    await store({ group: [{ id: 'a', name: 'A' }] }, monday)
    expect(await store({ group: [{ name: 'A', id: 'a' }] }, tuesday)).toEqual({ stored: 0, gone: 0 })
    expect(await stored()).toMatchObject([{ changed_at: monday }])
  })

  it('listed twice are stored once', async () => {
    const a = { id: 'a', name: 'A' }
    expect(await store({ group: [a, a], unit_type: [a] }, monday)).toEqual({ stored: 2, gone: 0 })
  })

  it('with characters that Postgres cannot keep are stored all the same', async () => {
    await store({ group: [{ id: 'a', name: 'nul \0, half \ud83c, whole 🏨, escaped \\u0000' }] }, monday)
    expect(await stored()).toMatchObject([
      { document: { id: 'a', name: 'nul \\u0000, half \ufffd, whole 🏨, escaped \\u0000' } },
    ])
  })
})
