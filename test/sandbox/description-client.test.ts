import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { type GeneratedClient, generateClient } from '../helpers/generated-client.ts'
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
let generated: GeneratedClient
beforeAll(async () => {
  sandbox = await openSandbox()
  await sandbox.run('companyMappings', mapHotels(1, 2))
  const spec = await readDocument(`${sandbox.url}${contract.otherEndpoints.description.path}`)
  generated = await generateClient(spec, program)
})
afterAll(async () => {
  await sandbox.close()
  await generated[Symbol.asyncDispose]()
})

type Client = {
  groups(): Promise<string[]>
  search(customPropertyIds: string[]): Promise<string>
  task(id: string): Promise<{ status: string; pageUrls?: string[] }>
  refusal(): Promise<string>
}

it('a client that is generated from the description compiles, and talks to the service', async () => {
  const { connect, titlesOf } = (await generated.load()) as {
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
