import { sql } from 'kysely'
import pg from 'pg'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { comparedCompanies } from '../../../src/pipeline/compare/compare-company.ts'
import { openLedger } from '../../db/ledger/ledger.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(async () => {
  await ledger.clear()
  await emptyTables(ledger.db, ['document'])
})

const megabyte = 1_000_000

/** So many hotels, each a company of its own with one row of about so many bytes. */
async function hotels(count: number, bytes: number): Promise<void> {
  const { db } = ledger
  const runId = await ledger.startRun()
  await sql`
    with request as (
      insert into submission (run_id, kind, partition, state, row_count)
      values (${runId}, 'company_mappings', '', 'settled', ${count}) returning submission_id
    ),
    mapped as (
      insert into mapping (partner_id, company_id, submission_id)
      select 'H-' || nth, gen_random_uuid(), submission_id from request, generate_series(1, ${count}::integer) nth
    ),
    landed as (
      insert into source_row (stream, partner_id, row_key, content, desired_hash)
      select 'framework_answers', 'H-' || nth, 'H-' || nth, jsonb_build_object('value', repeat('x', ${bytes}::integer)),
             '\\x00'
      from generate_series(1, ${count}::integer) nth
      returning row_id, partner_id, desired_hash
    )
    insert into acceptance (row_id, partner_id, wanted_hash, accepted_hash, accepted_at)
    select row_id, partner_id, desired_hash, desired_hash, clock_timestamp() from landed`.execute(db)
}

/** Fetches all of them; how many came with each fetch, and how many fetches that took. */
async function fetched(): Promise<{ companies: number[]; fetches: number }> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  try {
    const companies: number[] = []
    await ledger.inTransaction(async (trx) => {
      const { rows } = await sql<{ submission_id: number }>`
        insert into submission (run_id, kind, partition, state, row_count)
        select max(run_id), 'framework_answers_search', 'ours', 'settled', 0 from run returning submission_id`.execute(
        trx,
      )
      const submissionId = rows[0]?.submission_id ?? 0
      const search = { submissionId, search: 'ours', list: 'companies', companyMember: 'id' }
      const streams = { streams: ['framework_answers'], carried: ['framework_answers'] }
      for await (const some of comparedCompanies(trx, streams, search)) companies.push(some.length)
    })
    const texts = query.mock.calls.map(([asked]) =>
      typeof asked === 'string' ? asked : (asked as { text: string }).text,
    )
    return { companies, fetches: texts.filter((text) => text.startsWith('fetch ')).length }
  } finally {
    query.mockRestore()
  }
}

describe('companies that are compared', () => {
  it('companies that hold much come a few at a time, as many as fit into the budget', async () => {
    await hotels(30, 0.95 * megabyte)
    expect(await fetched()).toEqual({ companies: [10, 8, 8, 4], fetches: 4 })
  })

  it('companies that hold more than half of the budget each come one by one', async () => {
    await hotels(13, 5 * megabyte)
    expect((await fetched()).companies).toEqual([10, 1, 1, 1])
  })

  it.each([
    [0, 1],
    [12, 2],
    [100, 2],
    [110, 3],
    [200, 3],
    [250, 4],
  ])('%i companies that hold little take no more than %i fetches', async (count, fetches) => {
    await hotels(count, 100)
    const counted = await fetched()
    expect(counted.companies.reduce((sum, some) => sum + some, 0)).toBe(count)
    expect(counted.fetches).toBeLessThanOrEqual(fetches)
  })
})
