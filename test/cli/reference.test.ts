import { expect, test } from 'vitest'
import type { ReferenceVersion, UntakenReference } from '../../src/db/tables/service-tables.ts'
import type { CachedDocument } from '../../src/pipeline/reference/store-reference-data.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { alteringProxy } from '../helpers/altering-proxy.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { type Ended, nightferry, workingFolder } from './nightferry-process.ts'

const hotels = 3
const world = await ofThisFile(startWorld({ migrated: true, hotels }))
/** By path: from now on, what the service answers to GET is changed on its way to us. */
const changes = new Map<string, (json: unknown) => unknown>()
const proxy = await ofThisFile(
  alteringProxy(world.sandboxUrl, ({ method, path }, answer) => {
    const change = method === 'GET' ? changes.get(path) : undefined
    return change === undefined ? answer : { ...answer, json: change(answer.json) }
  }),
)

async function call(...args: string[]): Promise<Ended> {
  await using folder = await workingFolder()
  return await nightferry(folder.path, [...args, '--config', demoConfig], {
    ...world.environment(),
    EXCHANGE_BASE_URL: proxy.url,
  })
}
async function night(): Promise<RunReport> {
  const { stdout, stderr } = await call('run', 'nightly-sync', '--json')
  expect(stdout, stderr).not.toBe('')
  return JSON.parse(stdout) as RunReport
}
type Overview = { versions: ReferenceVersion[]; documents: CachedDocument[]; withheld: UntakenReference | null }
const overview = async () => JSON.parse((await call('reference', '--json')).stdout) as Overview

const [first] = catalogue.frameworks
const frameworkPath = `/api/v1/frameworks/${first?.id ?? ''}`
const lists = '/api/v1/frameworks'

type Node = { id: string; [field: string]: unknown }
/** The framework without the data point that every hotel answers first. */
function withoutEmployees(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json), (key, value: unknown) =>
    key === 'dataPoints' ? (value as Node[]).filter(({ title }) => title !== 'Employees') : value,
  )
}

// Each test goes on where the one before it stopped, as one night follows another.
test('the verb says before the first run that nothing was fetched', async () => {
  const verb = expect.stringContaining('were fetched yet; nightferry run refresh-reference fetches them')
  expect(await call('reference')).toMatchObject({ code: 0, stdout: verb })
  expect(await call('reference', '--changes')).toMatchObject({ code: 2, stderr: verb })
  expect(await call('reference', '--accept')).toMatchObject({ code: 2 })
})

test('a run stores what it fetched as version 1, and the next run with the same makes none', async () => {
  expect((await night()).notices).toEqual([])
  await night()
  const { versions, documents, withheld } = await overview()
  expect(versions).toMatchObject([{ version: 1, run_id: 1 }])
  expect(withheld).toBeNull()
  expect(documents.filter(({ kind }) => kind === 'framework').map(({ name }) => name)).toEqual([
    'Living Coast',
    'Responsible Hotel',
  ])
  const { stdout } = await call('reference')
  expect(stdout).toMatch(/^Version 1 of the reference data, fetched /)
  expect(stdout).toContain('Responsible Hotel')
})

test('a data point that the service drops is a notice with the rows that use it, and a change to look up', async () => {
  changes.set(frameworkPath, withoutEmployees)
  const report = await night()
  expect(report.verdict).toBe('succeeded')
  expect(report.notices).toEqual([
    expect.stringMatching(
      new RegExp(
        `^Reference data, version 2: framework "Responsible Hotel": 1 data point removed, ${hotels} rows here use what was removed\\.$`,
      ),
    ),
  ])
  expect((await call('reference', '--changes')).stdout).toMatch(/removed +data point +Employees/)
  const { rows } = await world.pool.query(
    'select version, change, item, item_name from reference_changes where version = 2',
  )
  expect(rows).toEqual([{ version: 2, change: 'removed', item: 'data_point', item_name: 'Employees' }])
})

test('rows of that data point that change are invalid then, and the others are left as they are', async () => {
  await world.partnerPool.query(
    `update hotelier.sustainability_answer set value = (value::numeric + 1)::text, updated_at = now()
     where hotel_id = 1 and data_point_id::text = $1`,
    [employees()],
  )
  const report = await night()
  expect(report.refused).toMatchObject([{ state: 'invalid', reason: expect.stringContaining('is in no framework') }])
})

test('the row is judged again and sent when its data point is back, and the verb compares two versions as a whole', async () => {
  changes.set(frameworkPath, (json) => json)
  const report = await night()
  expect(report).toMatchObject({ verdict: 'succeeded', refused: [] })
  const { stdout } = await call('reference', '--changes', '--from', '1', '--to', '3')
  expect(stdout).toContain('do not differ')
  expect(await call('reference', '--changes', '--from', '7')).toMatchObject({ code: 2 })
})

test('a service that lists no framework makes no row invalid: the report says what was not taken, until it is accepted', {
  timeout: 180_000,
}, async () => {
  changes.set(lists, () => [])
  const report = await night()
  expect(report.verdict).toBe('partial')
  expect(report.remarks).toEqual([
    expect.stringMatching(
      /^The service's reference data hold suspiciously little \(.*frameworks: 0, where 2 were known.*\), so they were not taken: rows are judged by version 3, last seen .*nightferry reference --accept/,
    ),
  ])
  expect(report.refused).toEqual([])
  expect((await overview()).withheld).toMatchObject({ times: 1, accepted_by: null })
  expect((await call('reference')).stdout).toContain('If this is right: nightferry reference --accept')

  expect(await call('reference', '--accept')).toMatchObject({ code: 0 })
  expect((await call('reference')).stdout).toContain('the next run takes it')
  const accepted = await night()
  expect(accepted.notices.join('\n')).toMatch(/accepted version 4 of the reference data/)
  expect((await overview()).versions[0]).toMatchObject({ version: 4, accepted_by: expect.any(String) })
})

test('a fetch that fails half-way changes nothing', async () => {
  changes.set(lists, (json) => json)
  changes.set(frameworkPath, () => ({ id: 'another' }))
  const { code, stderr } = await call('run', 'nightly-sync', '--json')
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/asked for framework .*, answered with another/),
  })
  expect((await overview()).versions[0]).toMatchObject({ version: 4 })
  expect((await overview()).documents.filter(({ kind }) => kind === 'framework')).toEqual([])
})

function employees(): string {
  const json = JSON.stringify(first)
  return /"id":"([^"]+)","title":"Employees"/.exec(json)?.[1] ?? ''
}
