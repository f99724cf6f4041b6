import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checks } from '../../src/doctor/examine.ts'
import type { Found, Ward } from '../../src/doctor/ward.ts'
import { some } from '../helpers/some.ts'

/** What a check finds of an address of the partner's database, or of Nightferry's own. */
async function found(id: 'partner_encryption' | 'database_encryption', url: string): Promise<Found | undefined> {
  const ward = {
    config: async () => ({ partner: { url }, database: { url } }),
    partner: async () => ({}),
    own: async () => ({}),
  } as unknown as Ward
  const [one] = some((await checks.find((check) => check.id === id)?.run(ward)) ?? [])
  return one
}

test.each([
  ['postgres://u:p@db.example:5432/hotels', '?sslmode=verify-full'],
  ['postgres://u:p@db.example/hotels?sslmode=disable', '?sslmode=verify-full'],
  ['postgres://u:p@127.0.0.1/hotels?host=db.example', '?sslmode=verify-full'],
  ['mariadb://u:p@db.example/hotels', '?ssl=true'],
  ['mysql://u:p@10.0.0.7/hotels?ssl=false', '?ssl=true'],
  ['sqlserver://u:p@db.example/hotels?ssl=false', '?ssl=true'],
])('the doctor advises to encrypt the connection of %s by %s', async (url, parameter) => {
  const advised = await found('partner_encryption', url)
  expect(advised).toMatchObject({
    level: 'advice',
    what: expect.stringMatching(/(db\.example|10\.0\.0\.7) is not enc/),
  })
  expect(advised?.todo).toContain(`${parameter} to PARTNER_DATABASE_URL`)
})

test.each([
  'postgres://u:p@db.example/hotels?sslmode=verify-full',
  'postgres://u:p@db.example/hotels?sslmode=no-verify',
  'mariadb://u:p@db.example/hotels?ssl=no-verify',
  'sqlserver://u:p@db.example/hotels',
  'postgres://u:p@localhost/hotels',
  'postgres://u:p@[::1]:5432/hotels',
  'postgres://u@/hotels?host=/run/postgresql',
  'mysql://u:p@db.example/hotels?socket=/run/mysqld/mysqld.sock',
  'file:///srv/hotels.db',
])('%s is an address by which nothing goes over the network in the clear', async (url) => {
  expect(await found('partner_encryption', url)).toMatchObject({ level: 'ok' })
})

test('an address that names its authorities encrypts', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-ca-'))
  try {
    const file = join(folder, 'authority.pem')
    await writeFile(file, 'an authority')
    for (const scheme of ['postgres', 'mysql']) {
      const url = `${scheme}://u:p@db.example/hotels?sslrootcert=${encodeURIComponent(file)}`
      expect(await found('partner_encryption', url), scheme).toMatchObject({ level: 'ok' })
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test("Nightferry's own database is looked at in the same way, and the embedded one is on this machine", async () => {
  const advised = await found('database_encryption', 'postgres://u:p@db.example/own')
  expect(advised).toMatchObject({
    level: 'advice',
    todo: expect.stringContaining('?sslmode=verify-full to DATABASE_URL'),
  })
  expect((await found('database_encryption', 'postgres://u:p@db.example/own?sslmode=verify-full'))?.level).toBe('ok')
  expect((await found('database_encryption', 'embedded'))?.level).toBe('ok')
})
