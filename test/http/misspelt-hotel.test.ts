import { describe, expect, it } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { startWorld } from '../helpers/world.ts'
import { readingApi } from './in-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 1 }))
const api = await ofThisFile(Promise.resolve(readingApi(world)))
await world.pool.query(
  `insert into source_row (stream, partner_id, row_key, content, desired_hash) values ('properties', 'H-4711', 'H-4711', '{}', '\\x01')`,
)

const lists = [
  '/v1/rows?state=rejected',
  '/v1/rows/causes?state=rejected',
  '/v1/rows/parked-groups?limit=10',
  '/v1/differences?limit=10',
  '/v1/changes?limit=10',
  '/v1/removals?limit=10',
  '/v1/actions?limit=10',
]
const actions = ['/v1/rows/retry', '/v1/rows/resend', '/v1/removals/accept', '/v1/removals/restore']
const unknown = (words: string) => ({ status: 404, body: { code: 'hotel_unknown', detail: words } })
const near = "Nothing was ever read of a hotel 'h-4711'. Was H-4711 meant?"

describe('a misspelt id', () => {
  it.each(lists)(
    'a misspelt hotel does not look as if all were well in GET %s, which names the id that is near',
    async (path) => {
      expect(await api.answer(`${path}&partnerId=h-4711`)).toMatchObject(unknown(near))
    },
  )

  it.each(actions.flatMap((path) => [true, false].map((dryRun) => ({ path, dryRun }))))(
    'POST $path names a misspelt hotel as one that nobody has, with dryRun: $dryRun',
    async ({ path, dryRun }) => {
      expect(await api.answer(path, { partnerId: 'h-4711', dryRun })).toMatchObject(unknown(near))
    },
  )

  it('an id that is near no other is answered with ids that there are', async () => {
    const words = "Nothing was ever read of a hotel 'X'. Ids are those of the partner's database, such as H-4711"
    expect(await api.answer('/v1/rows?state=rejected&partnerId=X')).toMatchObject(unknown(words))
    expect(await api.answer('/v1/hotels/X')).toMatchObject(unknown(words))
  })
})

describe('a known id', () => {
  it.each(lists)('a known hotel has an empty list in GET %s', async (path) => {
    const { status, body } = await api.answer(`${path}&partnerId=H-4711`)
    expect(status).toBe(200)
    expect(Object.values(body).filter((one) => Array.isArray(one) && one.length > 0)).toEqual([])
  })

  it.each(actions)('POST %s does not refuse a known hotel', async (path) => {
    for (const dryRun of [true, false]) {
      expect(await api.answer(path, { partnerId: 'H-4711', dryRun })).toMatchObject({ status: 200 })
    }
  })
})

it('a list that is empty without a hotel in its filter stays an empty list', async () => {
  for (const path of lists) expect(await api.answer(path), path).toMatchObject({ status: 200 })
})
