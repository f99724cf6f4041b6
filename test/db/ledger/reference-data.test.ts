import { beforeEach, describe, expect, it } from 'vitest'
import { settings } from '../../../src/config/schema.ts'
import { keepReferenceData } from '../../../src/pipeline/reference/fetch-reference-data.ts'
import type { FetchedDocuments } from '../../../src/pipeline/reference/reference-items.ts'
import {
  acceptUntaken,
  documentsAt,
  referenceChanges,
  referenceVersions,
  rowsUsingRemoved,
  storableDocuments,
  untakenReference,
  versionsKept,
} from '../../../src/pipeline/reference/store-reference-data.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { dataPoint, ids } from '../../pipeline/push/rows.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(() => ledger.clear())

const ann = { user: 'ann', host: 'desk' }
const monday = new Date('2026-11-16T02:00:00Z')
const tuesday = new Date('2026-11-17T02:00:00Z')
const nothing: FetchedDocuments = { unit_type: [], group: [], custom_property: [], framework: [] }
const config = settings.parse({})

const keep = (
  documents: Partial<FetchedDocuments>,
  at = monday,
  runId: number | null = null,
): ReturnType<typeof keepReferenceData> =>
  ledger.inTransaction((trx) =>
    keepReferenceData({ config, now: () => at }, trx, storableDocuments({ ...nothing, ...documents }), runId),
  )
const stored = () =>
  ledger.db
    .selectFrom('reference_data')
    .select(['kind', 'id', 'document', 'changed_at', 'version'])
    .orderBy('kind')
    .orderBy('id')
    .execute()

const framework = (dataPoints: string[], change: object = {}) => ({
  id: ids.framework,
  title: 'Responsible Hotel',
  questionIds: [ids.question],
  dataPoints: dataPoints.map(dataPoint),
  titles: { [ids.number]: 'Energy', [ids.list]: 'Sources', [ids.option]: 'Solar' },
  raw: {},
  ...change,
})
/** Ids that have letters, which those of `ids` do not. */
const letters = {
  framework: 'fa000000-0000-4000-8000-000000000001',
  question: 'fb000000-0000-4000-8000-000000000001',
  point: 'fc000000-0000-4000-8000-000000000001',
  option: 'fd000000-0000-4000-8000-000000000001',
  unit: 'fe000000-0000-4000-8000-000000000001',
}
const capitals = (id: string) => id.toUpperCase()

/** A framework with one of each, every id in a spelling. */
const spelt = (as: (id: string) => string, change: object = {}) => ({
  ...framework([]),
  id: as(letters.framework),
  questionIds: [as(letters.question)],
  dataPoints: [
    {
      ...dataPoint(as(letters.point)),
      questionId: as(letters.question),
      optionIds: [as(letters.option)],
      unitIds: [as(letters.unit)],
    },
  ],
  titles: { [as(letters.question)]: 'Which?', [as(letters.point)]: 'Energy', [as(letters.option)]: 'Solar' },
  ...change,
})
const named = (name: string): { id: string } => ({ name, id: 'a' }) as { id: string }
const [a, b] = [
  { id: 'a', name: 'A' },
  { id: 'b', name: 'B' },
]

describe('reference data', () => {
  it('reference data are stored, changed and removed as the service lists them, each change in a version', async () => {
    const energy = { ...a, units: [] }
    expect(await keep({ group: [a, b], unit_type: [energy] })).toEqual({ version: 1, changes: 3 })
    const renamed = { id: 'b', name: 'B, renamed' }
    expect(await keep({ group: [renamed], unit_type: [energy] }, tuesday)).toEqual({ version: 2, changes: 2 })
    expect(await stored()).toEqual([
      { kind: 'group', id: 'b', document: renamed, changed_at: tuesday, version: 2 },
      { kind: 'unit_type', id: 'a', document: energy, changed_at: monday, version: 1 },
    ])
    expect(await referenceChanges(ledger.db, 1, 2)).toMatchObject([
      { kind: 'group', document_id: 'a', document_name: 'A', item: 'document', change: 'removed' },
      { kind: 'group', document_id: 'b', change: 'changed', detail: '"B" → "B, renamed"' },
    ])
    const past = await ledger.db.selectFrom('reference_past').selectAll().orderBy('id').execute()
    expect(past).toEqual([
      { kind: 'group', id: 'a', from_version: 1, until_version: 2, document: a },
      { kind: 'group', id: 'b', from_version: 1, until_version: 2, document: b },
    ])
  })

  it('reference data travel in statements of a bounded length, however many there are', async () => {
    const many = (at: string) =>
      Array.from({ length: 30 }, (_, n) => framework([], { id: `${at}${n}`, raw: 'x'.repeat(100_000) }))
    const seen = new Set<number>()
    const client = await ledger.pool.connect()
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    Object.assign(client, {
      query: (...given: unknown[]) => {
        for (const value of (given[1] ?? []) as unknown[]) if (typeof value === 'string') seen.add(value.length)
        return query(...given)
      },
    })
    client.release()
    await keep({ framework: many('a') })
    Object.assign(client, { query })
    expect(Math.max(...seen)).toBeLessThan(1_100_000)
    expect((await stored()).map(({ id }) => id)).toHaveLength(30)
    await keep({ framework: many('A').slice(1) }, tuesday)
    expect((await stored()).map(({ id }) => id).toSorted()).toEqual(
      many('A')
        .slice(1)
        .map(({ id }) => id)
        .toSorted(),
    )
  })

  it('reference data that did not change are not written, make no version, and confirm the one in force', async () => {
    await keep({ group: [a] })
    expect(await keep({ group: [named('A')] }, tuesday)).toEqual({ version: 1, changes: 0 })
    expect(await stored()).toMatchObject([{ changed_at: monday }])
    expect(await referenceVersions(ledger.db)).toMatchObject([{ fetched_at: monday, confirmed_at: tuesday }])
  })

  it('reference data that differ only in what is not read here make no version', async () => {
    await keep({ framework: [framework([ids.number, ids.list])] })
    const again = framework([ids.list, ids.number], { raw: { readAt: 'tonight' } })
    expect(await keep({ framework: [again] }, tuesday)).toEqual({ version: 1, changes: 0 })
    expect(await stored()).toMatchObject([{ document: { raw: { readAt: 'tonight' } }, version: 1 }])
  })

  it('reference data whose ids come in another spelling are the same, and take it over', async () => {
    await keep({ framework: [spelt(String)], group: [a] })
    await keep({ framework: [spelt(String)], group: [a, b] }, tuesday)
    expect(await keep({ framework: [spelt(capitals)], group: [a, b] })).toEqual({ version: 2, changes: 0 })
    expect(await stored()).toMatchObject([
      { kind: 'framework', id: capitals(letters.framework), version: 1 },
      { kind: 'group' },
      { kind: 'group' },
    ])
    expect(await documentsAt(ledger.db, 1)).toMatchObject([{ kind: 'framework' }, { kind: 'group', id: 'a' }])
  })

  it('reference data that change, and come in another spelling, are kept as they were', async () => {
    await keep({ framework: [spelt(String)] })
    expect(await keep({ framework: [spelt(capitals, { title: 'New' })] }, tuesday)).toEqual({ version: 2, changes: 1 })
    expect(await documentsAt(ledger.db, 1)).toMatchObject([{ id: letters.framework }])
    expect(await documentsAt(ledger.db, 2)).toMatchObject([{ id: capitals(letters.framework) }])
  })

  it('reference data listed in two spellings are stored once, in the last of them', async () => {
    expect(await keep({ framework: [spelt(String), spelt(capitals)] })).toEqual({ version: 1, changes: 1 })
    expect(await stored()).toMatchObject([{ id: capitals(letters.framework) }])
  })

  it('listed twice are stored once', async () => {
    expect(await keep({ group: [a, a], custom_property: [a] })).toEqual({ version: 1, changes: 2 })
  })

  it('reference data with characters that Postgres cannot keep are stored all the same, and do not differ from themselves', async () => {
    const strange = { id: 'a', name: 'nul \0, half \ud83c, whole 🏨, escaped \\u0000' }
    await keep({ group: [strange] })
    expect(await stored()).toMatchObject([
      { document: { id: 'a', name: 'nul \\u0000, half \ufffd, whole 🏨, escaped \\u0000' } },
    ])
    expect(await keep({ group: [strange] })).toEqual({ version: 1, changes: 0 })
  })

  it('say of a framework which data points, questions, options and units were added, removed and changed', async () => {
    await keep({ framework: [framework([ids.number, ids.list])] })
    const changed = framework([ids.number, ids.strange], {
      questionIds: [ids.question, ids.property],
      dataPoints: [
        { ...dataPoint(ids.number), unitIds: [ids.company], reportingPeriodType: 'Monthly' },
        { ...dataPoint(ids.list), optionIds: [ids.option, ids.brand] },
        dataPoint(ids.strange),
      ],
      titles: { [ids.number]: 'Energy', [ids.list]: 'Sources', [ids.option]: 'Sun' },
    })
    await keep({ framework: [changed] }, tuesday)
    const changes = await referenceChanges(ledger.db, 1, 2)
    expect(
      changes.map(({ item, item_id, change, within_id, detail }) => [change, item, item_id, within_id, detail]),
    ).toEqual([
      [
        'changed',
        'data_point',
        ids.number,
        null,
        expect.stringMatching(/"Energy", Number, Any.* → "Energy", Number, Monthly/),
      ],
      ['removed', 'unit', ids.unit, ids.number, null],
      ['changed', 'option', ids.option, ids.list, '"Solar" → "Sun"'],
      ['added', 'question', ids.property, null, null],
      ['added', 'unit', ids.company, ids.number, null],
      ['added', 'option', ids.brand, ids.list, null],
      ['added', 'data_point', ids.strange, null, expect.stringContaining('Hologram')],
    ])
  })

  it('count the rows that use what a version removed: data points, questions, options and units', async () => {
    await ledger.startRun()
    await keep({ framework: [framework([ids.number, ids.list, ids.strange])] })
    const answer = (row_key: string, content: object) => ({ partner_id: 'H', row_key, content: { ...content } })
    await ledger.land('framework_answers', [
      answer('removed', { data_point_id: ids.strange.toUpperCase(), value: '1' }),
      answer('removed there', { data_point_id: ids.strange, framework_id: ids.framework, value: '1' }),
      answer('elsewhere', { data_point_id: ids.strange, framework_id: ids.otherFramework, value: '1' }),
      answer('kept', { data_point_id: ids.number, value: '1' }),
      answer('unit', { data_point_id: ids.number, value: '1', unit_id: ids.unit }),
      answer('option', { data_point_id: ids.list, value: `["${ids.option}"]` }),
    ])
    await ledger.land('omissions', [answer('omission', { question_id: ids.question })])
    const reduced = framework([], {
      questionIds: [ids.property],
      dataPoints: [
        { ...dataPoint(ids.number), unitIds: [ids.company] },
        { ...dataPoint(ids.list), optionIds: [ids.brand] },
      ],
    })
    await keep({ framework: [reduced] }, tuesday)
    expect(await rowsUsingRemoved(ledger.db, [2])).toEqual(new Map([[ids.framework, 5]]))
  })

  it('reference data of old versions are kept as far as promised', async () => {
    for (let fetch = 1; fetch <= versionsKept + 3; fetch++) await keep({ group: [named(`A ${fetch}`)] })
    const versions = await referenceVersions(ledger.db)
    expect(versions.map(({ version }) => version)).toEqual(
      Array.from({ length: versionsKept }, (_, index) => versionsKept + 3 - index),
    )
    expect((await referenceChanges(ledger.db, 0, 1000)).map(({ version }) => version)[0]).toBe(4)
    const past = await ledger.db.selectFrom('reference_past').select('until_version').execute()
    expect(Math.min(...past.map(({ until_version }) => until_version))).toBe(4)
  })
})

describe('reference data that shrink', () => {
  const whole = framework([ids.number, ids.list, ids.strange])

  it.each<[string, Partial<FetchedDocuments>, RegExp]>([
    ['hold no framework', {}, /^frameworks: 0, where 1 were known; .*data points: 0, where 3 were known/],
    ['hold a framework without most of its data points', { framework: [framework([ids.number])] }, /^data points: 1, /],
  ])('reference data that shrink are not taken when they %s', async (_, fetched, reason) => {
    await keep({ framework: [whole], group: [a] })
    expect(await keep({ ...fetched, group: [b] }, tuesday)).toEqual({ notTaken: expect.stringMatching(reason) })
    expect(await stored()).toMatchObject([
      { kind: 'framework', id: ids.framework },
      { kind: 'group', id: 'a' },
    ])
    expect(await untakenReference(ledger.db)).toMatchObject({ times: 1, reason: expect.stringMatching(reason) })
  })

  it('reference data that shrink are not taken when a framework has lost most of its data points, and is spelt otherwise', async () => {
    const points = (count: number, as: (id: string) => string) =>
      spelt(as, {
        dataPoints: Array.from({ length: count }, (_, at) => dataPoint(as(`f${at}${letters.point.slice(2)}`))),
      })
    const other = framework([ids.number, ids.list, ids.strange], { id: ids.otherFramework })
    await keep({ framework: [points(3, String), other] })
    expect(await keep({ framework: [points(1, capitals), other] }, tuesday)).toEqual({
      notTaken: expect.stringMatching(/^data points of framework "Responsible Hotel" .*: 1, where 3 were known$/),
    })
  })

  it('reference data that shrink are taken when a framework is renamed, and when one of two is gone with all that it holds', async () => {
    const other = framework([ids.number], { id: ids.otherFramework })
    await keep({ framework: [framework([ids.number, ids.list]), other] })
    const renamed = framework([ids.number, ids.list], { title: 'Renamed' })
    expect(await keep({ framework: [renamed] }, tuesday)).toMatchObject({ version: 2 })
  })

  it('reference data that shrink are taken when they lose half, or a group', async () => {
    await keep({ framework: [framework([ids.number, ids.list])], group: [a] })
    expect(await keep({ framework: [framework([ids.list])] }, tuesday)).toMatchObject({ version: 2 })
    expect(await untakenReference(ledger.db)).toBeNull()
  })

  it('reference data that shrink are taken once a person accepts them, and not when they then hold something else', async () => {
    await keep({ framework: [whole] })
    expect(await acceptUntaken(ledger.db, ann, monday)).toBeNull()
    await keep({}, monday)
    await keep({}, tuesday)
    expect(await untakenReference(ledger.db)).toMatchObject({ times: 2, first_seen_at: monday, last_seen_at: tuesday })
    await acceptUntaken(ledger.db, ann, tuesday)
    expect(await keep({ framework: [framework([ids.number])] })).toMatchObject({ notTaken: expect.anything() })
    expect(await keep({})).toMatchObject({ notTaken: expect.anything() })
    expect(await acceptUntaken(ledger.db, ann, tuesday)).toMatchObject({ accepted_by: 'ann' })
    expect(await keep({})).toMatchObject({ version: 2 })
    expect(await stored()).toEqual([])
    expect(await untakenReference(ledger.db)).toBeNull()
  })

  it('reference data that shrink are forgotten when the next fetch is whole again', async () => {
    await keep({ framework: [whole] })
    await keep({})
    expect(await keep({ framework: [whole] }, tuesday)).toEqual({ version: 1, changes: 0 })
    expect(await untakenReference(ledger.db)).toBeNull()
  })
})
