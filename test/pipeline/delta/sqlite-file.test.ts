import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { examineSqlite, openSqliteFile } from '../../../src/partner/sqlite-file.ts'

let folder: string
let path: string
let writer: DatabaseSync
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightferry-sqlite-'))
  path = join(folder, 'hotels.db')
  writer = new DatabaseSync(path)
})
afterEach(() => {
  if (writer.isOpen) writer.close()
  chmodSync(folder, 0o755)
  rmSync(folder, { recursive: true, force: true })
})

const nobody = 65_534

/** Works as a user who may read the file and its folder and write neither, until `work` returns. Root may do all. */
function asReader<T>(work: () => T): T {
  chmodSync(path, 0o444)
  chmodSync(folder, 0o555)
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(nobody)
  try {
    return work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

function refusal(file = path): string {
  try {
    openSqliteFile(options(file)).database.close()
  } catch (error) {
    return (error as Error).message
  }
  return 'opened'
}
const options = (file = path) => ({ url: pathToFileURL(file).href, statementTimeoutMs: 1_000, connectTimeoutMs: 100 })

test('a file in WAL mode opens to a user who may not write its folder only while it is open elsewhere, which the error says', () => {
  writer.exec('pragma journal_mode = wal; create table hotel (id)')
  expect(asReader(() => refusal())).toBe('opened')
  chmodSync(folder, 0o755)
  writer.close()
  const refused = asReader(() => refusal())
  expect(refused).toContain(`The partner's database at ${path} cannot be read: attempt to write a readonly database.`)
  expect(refused).toContain(`SQLite has to make files in ${folder}, which this process may not.`)
  expect(refused).toMatch(/user who writes the file.* keep it open.* another journal mode/)
  expect(refused).not.toContain('server')
})

test('a file in WAL mode whose writer died is refused with the same words', () => {
  writer.exec('pragma journal_mode = wal; create table hotel (id)')
  const left = join(folder, 'left.db')
  for (const end of ['', '-wal']) cpSync(`${path}${end}`, `${left}${end}`)
  expect(asReader(() => refusal(left))).toMatch(/unable to open database file\. It is in WAL mode/)
})

test('a file whose writer died in the middle of a transaction asks to be opened by its writer', () => {
  writer.exec(`create table hotel (id); pragma cache_size = 1; begin;
               with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000)
               insert into hotel select printf('%0100d', i) from n`)
  const left = join(folder, 'left.db')
  for (const end of ['', '-journal']) cpSync(`${path}${end}`, `${left}${end}`)
  expect(asReader(() => refusal(left))).toMatch(/readonly database\. .* Open it once with that program/)
})

test('a file that is not there is refused with words of files, not of servers', () => {
  expect(refusal(join(folder, 'none.db'))).toMatch(/unable to open .*this user may read the file and its folder\.$/)
})

test.each(['delete', 'wal'])(
  'a file in the journal mode %s that another process keeps locked is refused with a word about that process, not about rights',
  (mode) => {
    writer.exec(`pragma journal_mode = ${mode}; create table hotel (id); pragma locking_mode = exclusive;
                 begin immediate; insert into hotel values (1); commit`)
    const refused = refusal()
    expect(refused).toMatch(/database is locked\. Another process keeps it locked: .*locking_mode = exclusive/)
    expect(refused).not.toContain('this user may read')
  },
)

test('a file that is no database, or an encrypted one, is refused with a word about its content, not about rights', () => {
  const other = join(folder, 'other.db')
  writeFileSync(other, 'a text, and no database. '.repeat(100))
  const refused = refusal(other)
  expect(refused).toMatch(/file is not a database\. It is no file of SQLite, or is encrypted\. Check partner\.url/)
  expect(refused).not.toContain('this user may read')
})

test('the rights to a file say whether it is in WAL mode, and what of file and folder can be written', async () => {
  const rights = async () => {
    const looking = await examineSqlite(options())
    try {
      return (await looking.rights()).file
    } finally {
      await looking.close()
    }
  }
  writer.exec('create table hotel (id)')
  expect(await rights()).toEqual({ wal: false, file: true, folder: true })
  writer.exec('pragma journal_mode = wal')
  expect(await rights()).toEqual({ wal: true, file: true, folder: true })
})
