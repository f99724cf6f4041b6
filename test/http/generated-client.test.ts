import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type GeneratedClient, generateClient } from '../helpers/generated-client.ts'
import { type Served, served, tokens } from './served.ts'

/** What somebody writes who has generated a client. Lines that must not compile say so, and fail if they do. */
const program = `
import { Api, type Problem } from './client.js'

export function connect(baseUrl: string, token: string) {
  const api = new Api<string>({ baseUrl, securityWorker: (given) => (given ? { headers: { Authorization: 'Bearer ' + given } } : {}) })
  api.setSecurityData(token)
  return {
    alive: async (): Promise<boolean> => (await api.livez.live()).data.ok,
    start: async (job: string): Promise<number> => (await api.v1.triggerJob(job, {})).data.run,
    verdict: async (run: number): Promise<string | null> => (await api.v1.getRun(run)).data.verdict,
    sentence: async (): Promise<string> => (await api.v1.getTonight()).data.sentence,
    parked: async (limit: number): Promise<string | null> => (await api.v1.listRows({ state: 'parked', limit })).data.next,
    pause: async (job: string): Promise<boolean> => (await api.v1.pauseJob(job, { reason: 'audit' })).data.paused,
    refusal: async (call: () => Promise<unknown>): Promise<string> => {
      try {
        await call()
        return 'answered'
      } catch (refused) {
        const { status, code } = (refused as { error: Problem }).error
        return status + ' ' + code
      }
    },
  }
}

export async function wrong(api: Api<string>) {
  // @ts-expect-error no row is in such a state
  await api.v1.listRows({ state: 'lost' })
  // @ts-expect-error a run has a number
  await api.v1.getRun('7')
  // @ts-expect-error a job takes no such option
  await api.v1.triggerJob('push', { everything: true })
  const { data } = await api.v1.getTonight()
  // @ts-expect-error a night has no such tone
  return data.tone === 'splendid'
}
`

type Client = {
  alive(): Promise<boolean>
  start(job: string): Promise<number>
  verdict(run: number): Promise<string | null>
  sentence(): Promise<string>
  parked(limit: number): Promise<string | null>
  pause(job: string): Promise<boolean>
  refusal(call: () => Promise<unknown>): Promise<string>
}

let api: Served
let generated: GeneratedClient
let connect: (url: string, token: string) => Client
beforeAll(async () => {
  api = await served({ hotels: 4 })
  generated = await generateClient(await api.json('/openapi.json'), program)
  const exported = (await generated.load()) as { connect: typeof connect }
  connect = exported.connect
}, 300_000)
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await generated?.[Symbol.asyncDispose]()
})

it('a client that is generated from the description of the HTTP API compiles, starts a run and reads how it ended', async () => {
  const client = connect(api.url, tokens.act)
  expect(await client.alive()).toBe(true)
  const run = await client.start('nightly-sync')
  await vi.waitFor(async () => expect(await client.verdict(run)).toBe('succeeded'), { timeout: 200_000, interval: 200 })
  expect(await client.sentence()).toContain('last run ended')
  expect(await client.parked(1)).toBeNull()
  expect(await client.pause('push')).toBe(true)
  const { rows } = await api.world.pool.query<{ job: string }>('select job from job_pause')
  expect(rows).toEqual([{ job: 'push' }])
}, 300_000)

it('a generated client reads the code and the status of what the HTTP API refuses', async () => {
  const client = connect(api.url, tokens.act)
  const reader = connect(api.url, tokens.read)
  expect(await client.refusal(() => client.verdict(999_999))).toBe('404 run_unknown')
  expect(await client.refusal(() => client.start('no-such-job'))).toBe('404 job_unknown')
  expect(await client.refusal(() => client.parked(1_001))).toBe('400 request_malformed')
  expect(await client.refusal(() => reader.start('push'))).toBe('403 token_reads_only')
  expect(await client.refusal(() => connect(api.url, 'a-token-of-somebody-else').sentence())).toBe('401 token_wrong')
})
