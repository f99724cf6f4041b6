import { expect, vi } from 'vitest'
import { type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { demoConfig, startWorld, type World, type WorldOptions } from '../helpers/world.ts'

export const tokens = { act: 'act-token-of-the-tests-0123456789', read: 'read-token-of-the-tests-987654321' }

/** A daemon with its API, over a world of its own. */
export type Served = AsyncDisposable & {
  world: World
  url: string
  daemon: Running
  folder: string
  /** Asks with the token that may act, unless other headers are given. */
  ask(path: string, init?: RequestInit): Promise<Response>
  /** The JSON of an answer that must have this status. */
  json<T = Record<string, unknown>>(path: string, init?: RequestInit, status?: number): Promise<T>
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

type Given = Record<string, string>

/** @param given settings on top, as variables; some depend on the world. */
export async function served(
  options: WorldOptions,
  given: Given | ((world: World) => Promise<Given>) = {},
): Promise<Served> {
  await using made = new AsyncDisposableStack()
  const world = made.use(await startWorld(options))
  const folder = made.use(await workingFolder())
  const daemon = start(folder.path, ['serve', '--config', demoConfig], {
    ...world.environment(),
    NIGHTFERRY_HTTP_PORT: '0',
    NIGHTFERRY_HTTP_TOKEN: tokens.act,
    NIGHTFERRY_HTTP_READ_TOKEN: tokens.read,
    ...(typeof given === 'function' ? await given(world) : given),
  })
  made.defer(async () => {
    daemon.child.kill('SIGTERM')
    await daemon.ended
  })
  await vi.waitFor(() => expect(daemon.stderr()).toMatch(/service_started|nightferry: /), {
    timeout: 120_000,
    interval: 50,
  })
  const line = daemon
    .stderr()
    .split('\n')
    .find((text) => text.includes('"http_started"'))
  const url = (JSON.parse(line ?? '{}') as { url?: string }).url ?? ''
  const everything = made.move()
  const ask: Served['ask'] = (path, init = {}) =>
    fetch(new URL(path, url), {
      ...init,
      headers: { ...bearer(tokens.act), ...(init.headers as Record<string, string>) },
    })
  return {
    world,
    url,
    daemon,
    folder: folder.path,
    ask,
    json: async <T>(path: string, init?: RequestInit, status = 200) => {
      const answer = await ask(path, init)
      const text = await answer.text()
      expect(answer.status, text).toBe(status)
      return JSON.parse(text) as T
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  }
}

/** The body of a POST. */
export const posted = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** Starts a run by the API and waits until it has ended. */
export async function runToEnd(api: Served): Promise<number> {
  const { world } = api
  const { run } = await api.json<{ run: number }>('/v1/jobs/nightly-sync/runs', posted({}), 202)
  await vi.waitFor(
    async () => {
      const { rows } = await world.pool.query<{ state: string }>('select state from run where run_id = $1', [run])
      expect(rows[0]?.state).not.toBe('running')
    },
    { timeout: 150_000, interval: 100 },
  )
  return run
}
