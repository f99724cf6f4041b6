import { beforeEach, describe, expect, it } from 'vitest'
import { parseChaos } from '../../src/sandbox/chaos/parse-chaos.ts'
import { profiles } from '../../src/sandbox/chaos/profiles.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { some } from '../helpers/some.ts'
import { mapHotels } from './bodies.ts'
import { search } from './chaos-pages-world.ts'
import { json, wire } from './chaos-wire.ts'
import { type LogLine, readLog, struckLines, switchTo } from './chaos-world.ts'
import type { ErrorBody, Page, Task } from './documents.ts'
import { contract, openSandbox } from './open-sandbox.ts'

const sandbox = await ofThisFile(openSandbox({ pageSize: 20 }))
let before: number
beforeEach(async () => {
  await switchTo(sandbox, {})
  before = (await readLog(sandbox)).at(-1)?.id ?? 0
})

type Listed = { profiles: { name: string; what: string; share: number | null }[] }
const unitTypes = () => `${sandbox.url}${contract.endpoints.unitTypes.path}`
const names = async () => (await struckLines(sandbox, before)).map(({ chaos }) => chaos)

describe('switching at run time', () => {
  it('lists every profile with one sentence, and what is on', async () => {
    const { body } = await sandbox.call<Listed>('PUT', '/sandbox/chaos', { body: { profiles: { latency: 0.25 } } })
    expect(body.profiles.map(({ name }) => name)).toEqual(profiles.map(({ name }) => name))
    expect(new Set(body.profiles.map(({ name }) => name)).size).toBe(body.profiles.length)
    for (const { what } of some(body.profiles)) expect(what).toMatch(/^[A-Z].*\.$/)
    expect(body.profiles.filter(({ share }) => share !== null)).toMatchObject([{ name: 'latency', share: 0.25 }])
    expect((await sandbox.call<Listed>('GET', '/sandbox/chaos')).body).toEqual(body)
  })

  it('puts the named profiles in the place of the others, for the next request', async () => {
    await switchTo(sandbox, { 'server-error:503': 1 })
    expect((await wire(unitTypes())).status).toBe(503)
    await switchTo(sandbox, { unauthorised: 1 })
    expect((await wire(unitTypes())).status).toBe(401)
    await switchTo(sandbox, {})
    expect((await wire(unitTypes())).status).toBe(200)
    expect(await names()).toEqual([['server-error:503'], ['unauthorised']])
  })

  it('takes a share of 0 for off', async () => {
    const off = { profiles: { unauthorised: 0 } }
    const { body } = await sandbox.call<Listed>('PUT', '/sandbox/chaos', { body: off })
    expect(body.profiles.every(({ share }) => share === null)).toBe(true)
    expect((await wire(unitTypes())).status).toBe(200)
  })

  it('strikes the share of requests that was asked for', async () => {
    await switchTo(sandbox, { unauthorised: 0.5 })
    const statuses = []
    for (let request = 0; request < 100; request += 1) statuses.push((await wire(unitTypes())).status)
    const refused = statuses.filter((status) => status === 401).length
    expect(refused).toBeGreaterThan(30)
    expect(refused).toBeLessThan(70)
    expect(await names()).toHaveLength(refused)
  })

  it.each([
    ['an unknown name', { 'lost-anwser': 1 }],
    ['a share above 1', { latency: 1.1 }],
    ['a share below 0', { latency: -0.1 }],
  ])('refuses %s with the list of names, and changes nothing', async (_what, wrong) => {
    await switchTo(sandbox, { latency: 0.25 })
    const answer = await sandbox.call('PUT', '/sandbox/chaos', { body: { profiles: wrong } })
    expect([answer.status, answer.body.errorCode]).toEqual([400, 'chaos_invalid'])
    for (const { name } of some(profiles)) expect(answer.body.message).toContain(name)
    const { body } = await sandbox.call<Listed>('GET', '/sandbox/chaos')
    expect(body.profiles.filter(({ share }) => share !== null)).toMatchObject([{ name: 'latency', share: 0.25 }])
  })

  it.each([
    ['a share that is a text', { profiles: { latency: '1' } }],
    ['profiles that are a list', { profiles: [] }],
    ['another member', { profiles: {}, seed: 1 }],
  ])('refuses a body with %s', async (_what, body) => {
    expect((await sandbox.call('PUT', '/sandbox/chaos', { body })).body.errorCode).toBe('body_invalid')
  })

  it.each(['/sandbox/chaos', '/sandbox/log'])('shows %s to nobody without a key', async (path) => {
    expect((await sandbox.call('GET', path, { key: null })).status).toBe(401)
  })
})

describe('several at once', () => {
  it('waits, carries the request out and loses the answer, and the line has both names in that order', async () => {
    await switchTo(sandbox, { 'lost-answer': 1, latency: 1 })
    const answer = await wire(`${sandbox.url}${contract.endpoints.companyMappings.path}`, {
      method: 'POST',
      body: mapHotels(1),
    })
    expect(answer.end).toBe('reset')
    const lines = await struckLines(sandbox, before)
    expect(lines).toMatchObject([{ httpStatus: 200, status: 'Pending', chaos: ['latency', 'lost-answer'] }])
  })

  it('refuses only once, changes what the refusal says, and cuts it', async () => {
    await switchTo(sandbox, {
      'server-error:503': 1,
      unauthorised: 1,
      'unknown-error-codes': 1,
      'unknown-fields': 1,
      'cut-answer:clean': 1,
      'slow-bytes': 1,
    })
    const answer = await wire(unitTypes())
    expect([answer.status, answer.isWhole]).toEqual([401, true])
    expect(() => json(answer)).toThrow(SyntaxError)
    expect(await names()).toEqual([['unauthorised', 'unknown-fields', 'cut-answer:clean', 'unknown-error-codes']])
  })

  it('changes what a refusal says before it is sent', async () => {
    await switchTo(sandbox, { 'server-error:503': 1, 'unknown-error-codes': 1, 'unknown-fields': 1 })
    const refused = json<ErrorBody>(await wire(unitTypes()))
    expect(refused).toMatchObject({ errorCode: 'introduced_later_get', alsoNew: 'later' })
  })

  it('changes a page in several ways, one after the other', async () => {
    const task = await search(sandbox)
    const url = task.pageUrls?.[0] ?? ''
    const good = json<Page>(await wire(url, { key: null }))
    await switchTo(sandbox, { 'company-on-two-pages': 1, 'pages-shuffled': 1, 'malformed-page:trailing-garbage': 1 })
    const bad = (await wire(url, { key: null })).body.toString()
    expect(bad).toMatch(/ x$/)
    const page = JSON.parse(bad.slice(0, -2)) as Page
    expect(page.companies.slice(0, -1)).toEqual(good.companies)
    expect(page.companies).toHaveLength(21)
    expect(Object.keys(page)).not.toEqual(Object.keys(good))
    expect(await names()).toEqual([['company-on-two-pages', 'pages-shuffled', 'malformed-page:trailing-garbage']])
  })
})

describe('the log', () => {
  it('the log is read line by line from the one that was read last', async () => {
    for (let request = 0; request < 5; request += 1) await wire(unitTypes())
    const all = await readLog(sandbox, before)
    expect(all.map(({ path }) => path)).toEqual(Array.from({ length: 5 }, () => contract.endpoints.unitTypes.path))
    const paged: LogLine[] = []
    for (let after = before; ; ) {
      const { body } = await sandbox.call<{ lines: LogLine[] }>('GET', `/sandbox/log?after=${after}&limit=2`)
      paged.push(...body.lines)
      if (body.lines.length < 2) break
      after = body.lines.at(-1)?.id ?? after
    }
    expect(paged).toEqual(all)
  })

  it('says in which place of all tasks the task of a line stands', async () => {
    const task = await sandbox.run('companyMappings', mapHotels(2))
    const lines = (await readLog(sandbox, before)).filter(({ correlationId }) => correlationId === task.correlationId)
    const { rows } = await sandbox.pool.query('select sequence::int as n from sandbox.task where id = $1', [
      task.correlationId,
    ])
    expect(lines.length).toBeGreaterThan(2)
    expect(new Set(lines.map((line) => line.task))).toEqual(new Set([rows[0]?.n]))
    expect(lines[0]).toMatchObject({ profileId: 4711, method: 'POST', identifiers: ['H-0002'], chaos: null })
  })

  it('has a line for what is changed by the administration, and none for looking', async () => {
    await sandbox.call('GET', '/sandbox/chaos')
    await switchTo(sandbox, { latency: 0 })
    expect(await readLog(sandbox, before)).toMatchObject([{ method: 'PUT', path: '/sandbox/chaos', httpStatus: 200 }])
  })

  it.each(['after=x', 'after=-1', 'limit=0', 'limit=10001', 'limit=many'])(
    'refuses to be read with %s',
    async (query) => {
      const answer = await sandbox.call('GET', `/sandbox/log?${query}`)
      expect([answer.status, answer.body.errorCode]).toEqual([400, 'query_invalid'])
    },
  )

  it('has a task of the list of tasks under the id that it was given', async () => {
    await switchTo(sandbox, { 'lost-answer': 1 })
    await wire(`${sandbox.url}${contract.endpoints.companyMappings.path}`, { method: 'POST', body: mapHotels(3) })
    await switchTo(sandbox, {})
    const [line] = await struckLines(sandbox, before)
    const [newest] = (await sandbox.call<Task[]>('GET', contract.endpoints.tasks.path)).body
    expect(newest?.correlationId).toBe(line?.correlationId)
  })
})

describe('parseChaos', () => {
  const shareOf = (name: string) => profiles.find((profile) => profile.name === name)?.share

  it.each([
    ['', {}],
    ['latency', { latency: shareOf('latency') }],
    ['lost-answer=0.2,latency', { 'lost-answer': 0.2, latency: shareOf('latency') }],
    [' latency = 1 , malformed-page:empty=0.5,', { latency: 1, 'malformed-page:empty': 0.5 }],
    ['latency=0', {}],
    ['latency=0.5,latency=0.25', { latency: 0.25 }],
    ['latency=0.5,latency=0', {}],
  ])('reads %j', (text, shares) => {
    expect(Object.fromEntries(parseChaos(text))).toEqual(shares)
  })

  it.each(['latancy', 'latency=', 'latency=x', 'latency=1.01', 'latency=-1', 'latency=0.1=0.2', '=1', 'latency=NaN'])(
    'refuses %j with the list of names',
    (text) => {
      expect(() => parseChaos(text)).toThrow(expect.objectContaining({ code: 'chaos_invalid' }))
      expect(() => parseChaos(text)).toThrow(/malformed-page:empty, .*webhooks-early/)
    },
  )

  it('finds every profile by its name', () => {
    for (const { name, share } of some(profiles)) expect([...parseChaos(name)]).toEqual([[name, share]])
  })
})
