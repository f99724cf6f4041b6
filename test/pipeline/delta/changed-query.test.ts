import { beforeEach, describe, expect, it } from 'vitest'
import type { StreamConfig } from '../../../src/config/schema.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'
import { extractNow, openPartner, propertiesQuery } from './partner.ts'

const ferry = await ofThisFile(openFerry())
const partner = await ofThisFile(openPartner())
beforeEach(async () => {
  await ferry.clear()
  await partner.pool.query(`
    truncate hotel;
    insert into hotel (code, name, at)
    values ('H-1', 'one', '2026-01-01T12:00:00Z'), ('H-2', 'two', '2026-01-02T12:00:00Z')`)
})

const queryWith = (country: string) => propertiesQuery.replace('null as country_code', `'${country}' as country_code`)
const [wrong, right] = [queryWith('DNK'), queryWith('DK')]

const night = async (query: string, stream: Partial<StreamConfig> = {}) => {
  const run = await extractNow(ferry, partner, { properties: { query, ...stream } })
  return await ferry.ledger.db
    .selectFrom('run_stream')
    .select(['whole', 'read', 'changed', 'gone', 'unchanged', 'watermark_after'])
    .where('run_id', '=', run)
    .executeTakeFirstOrThrow()
}
const countries = async () => {
  const rows = await ferry.ledger.db.selectFrom('ledger').select(['content']).orderBy('partner_id').execute()
  return rows.map(({ content }) => content.country_code)
}

describe('a query that was changed', () => {
  it('by cursor reaches the rows that were read before, once', async () => {
    await night(wrong)
    expect(await night(wrong)).toMatchObject({ whole: null, read: 1 })
    expect(await night(right)).toMatchObject({ whole: 'query', read: 2, changed: 2, gone: 0 })
    expect(await countries()).toEqual(['DK', 'DK'])
    expect(await night(right)).toMatchObject({ whole: null, read: 1, changed: 0 })
  })

  it('by cursor brings the older rows that a wider condition lets in, and loses those of a narrower one', async () => {
    const narrow = `${propertiesQuery} where code = 'H-2'`
    await night(narrow)
    expect(await night(propertiesQuery)).toMatchObject({ whole: 'query', read: 2, changed: 1 })
    expect(await night(narrow)).toMatchObject({ whole: 'query', read: 1, gone: 1 })
  })

  it('loses no row where it yields only what changed lately', async () => {
    await night(propertiesQuery)
    const stream = { fullEvery: 'never' as const }
    expect(await night(`${propertiesQuery} where code = 'H-2'`, stream)).toMatchObject({ whole: 'query', gone: 0 })
  })

  it('by snapshot is told too', async () => {
    await night(wrong, { capture: 'snapshot' })
    expect(await night(right, { capture: 'snapshot' })).toMatchObject({ whole: 'query', read: 2, changed: 2 })
    expect(await night(right, { capture: 'snapshot' })).toMatchObject({ whole: null, read: 2, unchanged: 2 })
  })

  it('a query is noted, and nothing read whole for it, where no digest was kept of the reading before', async () => {
    await night(propertiesQuery)
    await ferry.ledger.pool.query('update stream_reading set query_digest = null')
    expect(await night(propertiesQuery)).toMatchObject({ whole: null, read: 1 })
    expect(await night(right)).toMatchObject({ whole: 'query', read: 2, changed: 2 })
  })
})
