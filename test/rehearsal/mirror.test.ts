import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openPartStore } from '../../src/rehearsal/mirror/mirror-parts.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { alteringProxy, type Passing } from '../helpers/altering-proxy.ts'
import { canaries } from '../helpers/canaries.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { contract, openSandbox } from '../sandbox/open-sandbox.ts'

const sandbox = await ofThisFile(openSandbox({ companies: 40, pageSize: 7, calculators: true }))
const folder = await ofThisFile(workingFolder())

async function mirror(baseUrl: string, file: string) {
  return await nightferry(folder.path, ['sandbox', '--mirror', file, '--json'], {
    EXCHANGE_BASE_URL: baseUrl,
    EXCHANGE_API_KEY: canaries.apiKey,
    NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: '100',
  })
}

const refused = (answer: Passing): Passing => ({
  ...answer,
  status: 400,
  json: { errorCode: 'not_here', message: 'No.' },
})
const { companiesSearch, calculatorsSearch, task } = contract.endpoints

describe('a mirror', { timeout: 600_000 }, () => {
  test('names a search that the deployment refuses, and holds what the others show', async () => {
    await using proxy = await alteringProxy(sandbox.url, (request, answer) =>
      request.method === 'POST' && request.path === companiesSearch.path ? refused(answer) : answer,
    )
    const file = join(folder.path, 'part.world')
    const ended = await mirror(proxy.url, file)
    expect(ended.code, ended.stderr).toBe(0)
    const { notSeen } = JSON.parse(ended.stdout) as { notSeen: string[] }
    expect(notSeen[0]).toMatch(/companiesSearch would show: the service answered 400 \(not_here\)/)
    const companies = (await readFile(file, 'utf8')).trimEnd().split('\n').slice(1)
    const calculators = companies.map((line) => (JSON.parse(line) as { calculators: unknown[] }).calculators.length)
    expect(calculators).toEqual(Array.from({ length: 40 }, () => 13))
  })

  test('leaves nothing behind when the deployment goes away in its midst', async () => {
    let polls = 0
    await using proxy = await alteringProxy(sandbox.url, (request, answer) => {
      if (request.path === calculatorsSearch.path) polls += 1
      return polls > 0 ? null : answer
    })
    const ended = await mirror(proxy.url, join(folder.path, 'gone.world'))
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/exchange_unreachable|submission_uncertain/) })
    expect((await readdir(folder.path)).filter((name) => name.startsWith('gone'))).toEqual([])
  })

  test('asks with GET and searches, and with nothing else', async () => {
    await using proxy = await alteringProxy(sandbox.url, (_, answer) => answer)
    const ended = await mirror(proxy.url, join(folder.path, 'whole.world'))
    expect(ended.code, ended.stderr).toBe(0)
    const posts = proxy.seen.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`)
    const searches = (['companies', 'standards', 'standardHolders', 'frameworkAnswers', 'calculators'] as const).map(
      (kind) => `POST ${contract.endpoints[`${kind}Search`].path}`,
    )
    expect(posts.toSorted()).toEqual(searches.toSorted())
    expect(proxy.count('GET', '/groups')).toBe(1)
    expect(task.method).toBe('GET')
  })

  test('a mirror is refused without an address', async () => {
    const ended = await nightferry(folder.path, ['sandbox', '--mirror', 'a.world'], {
      EXCHANGE_API_KEY: canaries.apiKey,
    })
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('exchange.baseUrl') })
  })
})

test('the mirror puts companies together from the parts of several searches, however their ids begin', async () => {
  const parts = await openPartStore(join(folder.path, 'parts-'))
  const id = (number: number) => `018f0000-0000-7000-8000-${String(number).padStart(12, '0')}`
  const identifier = '22222222-0000-4000-8000-000000000000'
  const numbers = Array.from({ length: 2_000 }, (_, number) => number)
  for (const number of numbers) {
    await parts.add('companiesSearch', {
      id: id(number),
      name: `Hotel ${number}`,
      properties: { [identifier]: ['H-1'] },
    })
  }
  for (const number of numbers) {
    await parts.add('standardHoldersSearch', {
      id: id(number),
      standards: [{ standardId: identifier, level: null, startDate: null, expiryDate: null }],
    })
  }
  await parts.add('calculatorsSearch', { id: id(1), name: 'Half a page' })
  await parts.drop('calculatorsSearch')
  const buckets = new Set((await readdir(parts.folder)).filter((name) => name.startsWith('companiesSearch')))
  const companies = []
  for await (const company of parts.companies(['group'], () => true)) companies.push(company)
  expect(buckets.size).toBeGreaterThan(200)
  expect(companies.map((company) => company.id).toSorted()).toEqual(numbers.map(id))
  expect(companies.find((company) => company.id === id(1))).toMatchObject({ name: 'Hotel 1', groups: ['group'] })
  expect(companies.flatMap(({ standards }) => standards)).toHaveLength(2_000)
  // A value of an identifier leads to one company.
  expect(companies.flatMap(({ properties }) => properties[identifier] ?? [])).toEqual(['H-1'])
  await parts.remove()
})
