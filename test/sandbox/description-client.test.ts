import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { generateApi } from 'swagger-typescript-api'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { patience } from '../helpers/patience.ts'
import { mapHotels } from './bodies.ts'
import { contract, type OpenSandbox, openSandbox } from './open-sandbox.ts'
import { readDocument } from './read-description.ts'

/** What a partner writes who has generated a client. Lines that must not compile say so, and fail if they do. */
const program = `
import { Api, type CalculatorsPage, type Task } from './client.js'

export function connect(key: string) {
  const api = new Api<string>({ securityWorker: (given) => (given ? { headers: { Authorization: given } } : {}) })
  api.setSecurityData(key)
  return {
    groups: async (): Promise<string[]> => (await api.api.listGroups()).data.map((group) => group.name),
    search: async (customPropertyIds: string[]): Promise<string> =>
      (await api.api.calculatorsSearch({ customPropertyIds })).data.correlationId,
    task: async (id: string): Promise<Task> => (await api.api.readTask(id)).data,
    refusal: async (): Promise<string> => {
      try {
        await api.api.readTask('nonsense')
        return 'answered'
      } catch (refused) {
        return (refused as { error: { errorCode: string } }).error.errorCode
      }
    },
  }
}

export function titlesOf(page: CalculatorsPage): string[] {
  return page.companies.flatMap(({ calculators }) => calculators.map(({ title }) => title))
}

export function wrong(task: Task, page: CalculatorsPage) {
  // @ts-expect-error a task need not have pages
  task.pageUrls.length
  // @ts-expect-error a task has no such member
  task.pages
  // @ts-expect-error a task has no such status
  task.status === 'Done'
  // @ts-expect-error only monthly calculators have a month
  const month: string = page.companies[0]!.calculators[0]!.period.month
  return month
}
`

let sandbox: OpenSandbox
let folder: string
beforeAll(async () => {
  sandbox = await openSandbox()
  await sandbox.run('companyMappings', mapHotels(1, 2))
  folder = await mkdtemp(join(tmpdir(), 'nightferry-client-'))
  const spec = await readDocument(`${sandbox.url}${contract.otherEndpoints.description.path}`)
  await generateApi({
    // The generator changes what it is given.
    spec: JSON.parse(JSON.stringify(spec)) as NonNullable<Parameters<typeof generateApi>[0]['spec']>,
    ...{ output: folder, fileName: 'client.ts', httpClientType: 'fetch', silent: true },
  })
  await writeFile(join(folder, 'program.ts'), program)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
})
afterAll(async () => {
  await sandbox.close()
  await rm(folder, { recursive: true, force: true })
})

type Client = {
  groups(): Promise<string[]>
  search(customPropertyIds: string[]): Promise<string>
  task(id: string): Promise<{ status: string; pageUrls?: string[] }>
  refusal(): Promise<string>
}

it('a client that is generated from the description compiles, and talks to the service', async () => {
  await compile()
  const url = pathToFileURL(join(folder, 'program.js')).href
  const { connect, titlesOf } = (await import(/* @vite-ignore */ url)) as {
    connect: (key: string) => Client
    titlesOf: (page: unknown) => string[]
  }
  const client = connect('demo-key')
  expect(await client.groups()).toEqual(['All hotels'])
  const id = await client.search([catalogue.brandPropertyId])
  const task = await vi.waitFor(async () => {
    const read = await client.task(id)
    expect(read.status).toBe('Success')
    return read
  }, patience)
  const page = await fetch(task.pageUrls?.[0] ?? '')
  expect(titlesOf(await page.json())).toEqual([])
  expect(await client.refusal()).toBe('task_not_found')
  expect(await connect('nobody').refusal()).toBe('api_key_unknown')
})

async function compile(): Promise<void> {
  const compiler = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc')
  const options = ['--strict', '--noUncheckedIndexedAccess', '--target', 'es2023', '--lib', 'es2023,dom,dom.iterable']
  const args = [compiler, ...options, '--module', 'nodenext', '--types', '', 'client.ts', 'program.ts']
  try {
    await promisify(execFile)(process.execPath, args, { cwd: folder, env: {} })
  } catch (error) {
    throw new Error(`the client does not compile:\n${(error as { stdout: string }).stdout}`)
  }
}
