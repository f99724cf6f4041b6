import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'
import { extractNow, openPartner } from './partner.ts'

const ferry = await ofThisFile(openFerry())
const partner = await ofThisFile(openPartner())
beforeEach(async () => {
  await ferry.clear()
  await partner.pool.query(`truncate hotel; insert into hotel (code, name, at) values ('H-1', 'one', '2026-01-01Z')`)
})

const protection = async (url: string) => {
  const run = await extractNow(ferry, { url }, { properties: {} })
  return await ferry.ledger.db
    .selectFrom('run_stream')
    .select(['protection', 'lacks'])
    .where('run_id', '=', run)
    .executeTakeFirstOrThrow()
}
const database = () => new URL(partner.url).pathname.slice(1)

test('a server that lists all transactions protects by them', async () => {
  expect(await protection(partner.url)).toEqual({ protection: 'transactions', lacks: null })
})

test('a database with track_activities off protects by the overlap alone', async () => {
  await partner.pool.query(`alter database ${database()} set track_activities = off`)
  try {
    expect(await protection(partner.url)).toEqual({ protection: 'overlap', lacks: 'track_activities' })
  } finally {
    await partner.pool.query(`alter database ${database()} reset track_activities`)
  }
})

test('one session with track_activities off, whose transaction has no beginning, leaves the overlap alone', async () => {
  const writer = new pg.Client({ connectionString: partner.url })
  await writer.connect()
  try {
    await writer.query('set track_activities = off')
    await writer.query('begin')
    await writer.query(`insert into hotel (code, name, at) values ('late', 'late', now())`)
    expect(await protection(partner.url)).toEqual({ protection: 'overlap', lacks: 'track_activities' })
    await writer.query('commit')
  } finally {
    await writer.end()
  }
})

test('a transaction that is prepared, of which nothing tells when it began, leaves the overlap alone', async () => {
  const name = `late_${randomBytes(6).toString('hex')}`
  await partner.pool.query(
    `begin; insert into hotel (code, name, at) values ('late', 'late', now()); prepare transaction '${name}'`,
  )
  try {
    expect(await protection(partner.url)).toEqual({ protection: 'overlap', lacks: 'prepared' })
  } finally {
    await partner.pool.query(`rollback prepared '${name}'`)
  }
})

test('a database that gets rows by a subscription protects by the overlap alone', async () => {
  const name = `sub_${randomBytes(6).toString('hex')}`
  await partner.pool.query(
    `create subscription ${name} connection 'dbname=elsewhere' publication all_of_it with (connect = false)`,
  )
  try {
    expect(await protection(partner.url)).toEqual({ protection: 'overlap', lacks: 'subscriber' })
  } finally {
    await partner.pool.query(`alter subscription ${name} set (slot_name = none); drop subscription ${name}`)
  }
})

test('a role that may not see the transactions of others is protected by the overlap alone, until it may', async () => {
  const role = `reader_${randomBytes(6).toString('hex')}`
  await partner.pool.query(`create role ${role} login password 'reads'; grant select on hotel to ${role}`)
  try {
    const url = new URL(partner.url)
    url.username = role
    url.password = 'reads'
    expect(await protection(url.href)).toEqual({ protection: 'overlap', lacks: 'privilege' })
    await partner.pool.query(`grant pg_read_all_stats to ${role}`)
    expect(await protection(url.href)).toEqual({ protection: 'transactions', lacks: null })
  } finally {
    await partner.pool.query(`drop owned by ${role}; drop role ${role}`)
  }
})
