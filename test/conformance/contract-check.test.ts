import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { compareContract, type NameComparison } from '../../src/conformance/contract-check/compare-contract.ts'
import { describedValue } from '../../src/conformance/contract-check/described-schema.ts'
import { readContractNames } from '../../src/conformance/names/open-names.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { nightferry } from '../cli/nightferry-process.ts'
import { packagedContract } from '../helpers/world.ts'
import { type OpenSandbox, openSandbox } from '../sandbox/open-sandbox.ts'

const contract = loadContract(packagedContract)
const names = readContractNames(packagedContract)

let sandbox: OpenSandbox
let folder: string
let text: string
let compared: NameComparison[]
beforeAll(async () => {
  sandbox = await openSandbox()
  folder = await mkdtemp(join(tmpdir(), 'nightferry-contract-'))
  text = await (await fetch(`${sandbox.url}${contract.otherEndpoints.description.path}`)).text()
  compared = compareContract(names, contract, JSON.parse(text))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await sandbox.close()
})

const of = (key: string, all = compared) => all.find((one) => one.key === key)

describe('the description of the sandbox', () => {
  test('refutes no name, because both come from the contract', () => {
    expect(compared.filter(({ verdict }) => verdict === 'refuted')).toEqual([])
  })
  test('confirms most assumptions: of requests, answers, tasks, pages, result files, statuses and events', () => {
    const confirmed = compared.filter(({ verdict }) => verdict === 'confirmed')
    expect(confirmed.length).toBeGreaterThan(200)
    for (const key of [
      'endpoints.cancelTask',
      'names.calculators.groupId',
      'names.task.taskKind',
      'names.error.errorCode',
      'names.calculatorsPage.calculatorVariables',
      'names.companyMappingsResult.mapped',
      'names.webhookHeaders.signature',
      'names.bulkEvent.apiKeyId',
      'names.applicationEvent.applicationId',
      'taskStatuses.partialSuccess',
      'webhookTopics.success',
    ]) {
      expect([key, of(key)?.verdict]).toEqual([key, 'confirmed'])
    }
  })
  test('does not mention what it has no place for', () => {
    expect(of('taskNames.calculatorsUpsert')?.verdict).toBe('not mentioned')
  })
})

describe('a description that spells names otherwise', () => {
  const changed = (from: string, to: string) => compareContract(names, contract, JSON.parse(text.replaceAll(from, to)))
  test('refutes each, with the names that stand there', () => {
    const renamed = changed('"groupId"', '"groupIdentifier"')
    expect(of('names.calculators.groupId', renamed)).toMatchObject({ verdict: 'refuted' })
    expect(of('names.calculators.groupId', renamed)?.detail).toContain('groupIdentifier')
    expect(renamed.filter(({ verdict }) => verdict === 'refuted')).toHaveLength(1)
  })
  test('refutes a value, a method and a header', () => {
    expect(of('names.companyMappingsResult.notFound', changed('"NotFound"', '"Missing"'))?.verdict).toBe('refuted')
    expect(of('names.webhookHeaders.id', changed('"webhook-id"', '"x-id"'))?.detail).toContain('x-id')
    const document = JSON.parse(text) as { paths: Record<string, Record<string, unknown>> }
    const path = contract.endpoints.cancelTask.path
    document.paths[path] = { delete: document.paths[path]?.post }
    expect(of('endpoints.cancelTask', compareContract(names, contract, document))).toMatchObject({
      verdict: 'refuted',
      detail: 'the path answers DELETE',
    })
  })
  test('a path that is not there is not mentioned, and those that look like it are named', () => {
    const moved = changed('"/api/v1/groups"', '"/api/v3/groups"')
    expect(of('endpoints.groups', moved)).toMatchObject({ verdict: 'not mentioned' })
    expect(of('endpoints.groups', moved)?.detail).toContain('/api/v3/groups')
  })
  test('says nothing where it describes nothing', () => {
    const empty = compareContract(names, contract, { openapi: '3.1.0', paths: {} })
    expect(new Set(empty.map(({ verdict }) => verdict))).toEqual(new Set(['not mentioned']))
  })
})

test('references, compositions, lists and schemas that hold themselves are resolved', () => {
  const document = {
    components: {
      schemas: {
        'a/b': { properties: { own: { $ref: '#/components/schemas/loop' } } },
        loop: { allOf: [{ $ref: '#/components/schemas/loop' }, { properties: { deep: { enum: ['x', null, 'y'] } } }] },
      },
    },
  }
  const schema = {
    items: { oneOf: [{ $ref: '#/components/schemas/a~1b' }, { anyOf: [{ properties: { other: {} } }] }] },
  }
  const { members } = describedValue(document, [schema])
  expect([...members.keys()].sort()).toEqual(['other', 'own'])
  const inner = describedValue(document, members.get('own') ?? [])
  expect([...describedValue(document, inner.members.get('deep') ?? []).texts]).toEqual(['x', 'y'])
  expect(
    describedValue(document, [{ $ref: '#/constructor/prototype' }, { $ref: 'https://elsewhere/x' }]).members.size,
  ).toBe(0)
})

describe('nightferry contract check', () => {
  const check = (place: string, ...more: string[]) =>
    nightferry(folder, ['contract', 'check', '--openapi', place, ...more])
  test('reads a URL and ends well, and with 3 where a file in YAML refutes a name', async () => {
    const well = await check(`${sandbox.url}${contract.otherEndpoints.description.path}`)
    expect([well.code, well.stderr]).toEqual([0, ''])
    expect(well.stdout).toMatch(/\d+ names: \d+ confirmed \(\d+ of them assumed\), 0 refuted/)
    await writeFile(join(folder, 'odd.yaml'), stringify(JSON.parse(text.replaceAll('"fieldTypeId"', '"fieldId"'))))
    const odd = await check('odd.yaml', '--json')
    expect(odd.code).toBe(3)
    expect(JSON.parse(odd.stdout)).toMatchObject({ counts: { refuted: 2 } })
    expect((await check('odd.yaml')).stdout).toContain('The description says otherwise')
  })
  test('what is no description, too long or not there is told as such', async () => {
    await writeFile(join(folder, 'other.json'), '{"swagger": true}')
    expect((await check('other.json')).stderr).toContain('description_unusable')
    await writeFile(join(folder, 'broken.json'), '{"openapi": ')
    expect((await check('broken.json')).stderr).toContain('is neither JSON nor YAML')
    await writeFile(join(folder, 'quoted.json'), '{"openapi": planted}')
    await writeFile(join(folder, 'quoted.yaml'), 'openapi: *planted\n')
    for (const name of ['quoted.json', 'quoted.yaml']) expect((await check(name)).stderr).not.toContain('planted')
    expect((await check('nowhere.json')).stderr).toContain('cannot be read')
    const endless = createServer((_request, response) => {
      const chunk = Buffer.alloc(1024 * 1024, ' ')
      const more = () => {
        while (response.write(chunk));
      }
      response.on('drain', more)
      more()
    })
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
    const { port } = endless.address() as { port: number }
    const long = await check(`http://127.0.0.1:${port}/`)
    expect(long.stderr).toContain('is longer than 32 MiB')
    expect(long.code).toBe(1)
    endless.closeAllConnections()
    endless.close()
  })
})
