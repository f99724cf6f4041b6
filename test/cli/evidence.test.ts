import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { keepReceivedBodies, receivedBody } from '../helpers/received-bodies.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 2 }))
const folder = await ofThisFile(workingFolder())

const call = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())

type Manifest = {
  files: { file: string; bytes: number; sha256: string }[]
  bodies_missing: { submission_id: number; code: string }[]
}
type Sent = { submission_id: number; stream: string; sent_hash: string; content: Record<string, string> | null }

const read = async (...path: string[]) => await readFile(join(folder.path, ...path), 'utf8')
const json = async <T>(...path: string[]) => JSON.parse(await read(...path)) as T

beforeAll(async () => {
  await keepReceivedBodies(world.sandboxPool)
  expect(await call('run', 'nightly-sync')).toMatchObject({ code: 0 })
})

test('evidence on a hotel is a folder of files, each with its digest in the manifest, for its owner alone', async () => {
  const { code, stdout } = await call('evidence', '--partner-id', 'H-0001', '--out', 'all')
  expect(code).toBe(0)
  const { files, bodies_missing } = await json<Manifest>('all', 'manifest.json')
  expect(bodies_missing).toEqual([])
  const there = (await readdir(join(folder.path, 'all'))).sort()
  expect(there).toEqual([...files.map(({ file }) => file), 'manifest.json'].sort())
  const digest = (text: string) => createHash('sha256').update(text).digest('hex')
  for (const { file, bytes, sha256 } of some(files)) {
    const text = await read('all', file)
    expect({ file, bytes: Buffer.byteLength(text), sha256: digest(text) }).toEqual({ file, bytes, sha256 })
    expect((await stat(join(folder.path, 'all', file))).mode & 0o777).toBe(0o600)
  }
  expect(stdout).toContain(`manifest.json has the SHA-256 digest ${digest(await read('all', 'manifest.json'))}.`)
})

test('evidence holds what was sent of each row, as its hash proves, and the elements that the service got', async () => {
  await world.pool.query(`
    update source_row set content = content || '{"name": "Renamed"}', desired_hash = '\\x00'
    where stream = 'properties' and partner_id = 'H-0001'`)
  expect(await call('evidence', '--partner-id', 'H-0001', '--out', 'sent')).toMatchObject({ code: 0 })
  const sent = await json<Sent[]>('sent', 'sent.json')
  const { rows } = await world.pool.query<{ submission_id: string; correlation_id: string; hash: string }>(`
    select submission_id, correlation_id, encode(sent_hash, 'hex') as hash
    from submission_row join source_row using (row_id) join submission using (submission_id)
    where partner_id = 'H-0001'`)
  expect(sent.map(({ sent_hash }) => sent_hash).sort()).toEqual(some(rows.map(({ hash }) => hash)).sort())
  for (const { content, sent_hash } of sent) {
    const { rows: proven } = await world.pool.query<{ hash: string }>(
      `select encode(substring(sha256(convert_to($1::jsonb::text, 'UTF8')) for 16), 'hex') as hash`,
      [JSON.stringify(content)],
    )
    expect(proven).toEqual([{ hash: sent_hash }])
  }
  const before = sent.find(({ stream }) => stream === 'properties')
  expect(before?.content?.name, 'what was sent, and not what the row says now').not.toBe('Renamed')
  for (const { submission_id, correlation_id } of rows) {
    const got = (await receivedBody(world.sandboxPool, correlation_id)).toString()
    const elements = (await read('sent', `sent-${submission_id}.json`)).slice('[\n'.length, -'\n]\n'.length)
    expect(elements).toContain('H-0001')
    expect(elements).not.toContain('H-0002')
    expect(got).toContain(elements)
    expect(await read('sent', 'sent.csv')).toContain(`,${correlation_id},Success,`)
  }
})

test('evidence of a year leaves out rows of other years, and keeps those that are of none', async () => {
  const years = (rows: { content: Record<string, string> | null }[]) =>
    new Set(rows.map(({ content }) => content?.year))
  const all = [...years(await json<Sent[]>('sent', 'sent.json'))].filter((year) => year !== undefined)
  expect(all.length).toBeGreaterThan(1)
  const [year = ''] = all
  expect(await call('evidence', '--partner-id', 'H-0001', '--year', year, '--out', 'year')).toMatchObject({ code: 0 })
  expect(years(await json<Sent[]>('year', 'sent.json'))).toEqual(new Set([year, undefined]))
  expect(years(await json<Sent[]>('year', 'rows.json'))).toEqual(new Set([year, undefined]))
})

test('evidence names the bodies that are not kept, and refuses what it could be mistaken for', async () => {
  await world.pool.query('delete from submission_payload where submission_id = 1')
  const { code, stdout } = await call('evidence', '--partner-id', 'H-0001', '--out', 'missing')
  expect(code).toBe(0)
  expect(stdout).toMatch(/\nSubmission 1: The body of submission 1 .* is not kept any more/)
  const { bodies_missing } = await json<Manifest>('missing', 'manifest.json')
  expect(bodies_missing).toMatchObject([{ submission_id: 1, code: 'body_removed' }])
  await mkdir(join(folder.path, 'full'))
  await writeFile(join(folder.path, 'full', 'sent.json'), '[]')
  for (const [hotel, out] of [
    ['H-0001', 'full'],
    ['H-0001', join('full', 'sent.json')],
    ['h-0001', 'unknown'],
  ] as const) {
    expect(await call('evidence', '--partner-id', hotel, '--out', out)).toMatchObject({ code: 2, stdout: '' })
  }
  expect(await readdir(join(folder.path, 'full'))).toEqual(['sent.json'])
})
