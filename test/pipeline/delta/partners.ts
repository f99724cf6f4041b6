import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { testDatabase } from '../../helpers/postgres.ts'
import { testPool } from '../../helpers/test-pool.ts'

/** A partner's database with hotels and meter readings, of whichever dialect; every test of the seam runs on each. */
export type DialectPartner = {
  url: string
  /** A text as the dialect writes it in SQL. */
  literal(text: string): string
  run(text: string): Promise<void>
  /** Something that is committed while a reader has its snapshot. */
  clear(): Promise<void>
  close(): Promise<void>
}

export const tables = `
  create table hotel (code text, name text, at text, number integer);
  create table reading (code text, year integer, month integer, field text, value real, at text)`

export const partners: (() => Promise<DialectPartner>)[] = [
  async () => {
    const { url } = await testDatabase({ template: 'empty' })
    const pool = testPool(url, 2)
    pool.on('error', () => {})
    const run = async (text: string) => {
      await pool.query(text)
    }
    await run(tables.replaceAll('at text', 'at timestamptz').replaceAll('value real', 'value numeric'))
    return {
      url,
      literal: (text) => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
      run,
      clear: () => run('truncate hotel, reading'),
      close: () => pool.end(),
    }
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nightferry-sqlite-'))
    const path = join(folder, 'hotels and more.db')
    const database = new DatabaseSync(path)
    database.exec('pragma journal_mode = wal')
    database.exec(tables)
    const run = async (text: string) => {
      database.exec(text)
    }
    return {
      url: pathToFileURL(path).href,
      literal: (text) => `'${text.replaceAll("'", "''")}'`,
      run,
      clear: () => run('delete from hotel; delete from reading'),
      close: async () => {
        database.close()
        await rm(folder, { recursive: true, force: true })
      },
    }
  },
]

export const hotelsQuery = `
  select code as partner_id, name, null as street, null as latitude, null as longitude, null as country_code,
         null as airport_code, null as hotel_code, null as booking_id, at, number
  from hotel`

export const readingsQuery = `select code as partner_id, year, month, field as field_type_id, value, at from reading`
