import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import { allRoutes } from '../../src/http/routes/all-routes.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { bearer, posted, runToEnd, served, tokens } from './served.ts'

const api = await ofThisFile(served({ hotels: 30 }))
let run: number

beforeAll(async () => {
  await runToEnd(api)
  await applySecondNight(api.world.partnerPool, { hotels: 30, seed: 7, asOf: new Date() })
  // Nobody at the service has heard of the one, and what is sent of it waits; the other is no place on Earth.
  await api.world.partnerPool.query(
    `insert into hotelier.hotel (hotel_id, code, name)
     select 990 + n, 'H-999' || n, 'Nobody heard of it' from generate_series(1, 5) n`,
  )
  await api.world.partnerPool.query(
    `insert into hotelier.calculation_setting (hotel_id, automatic_yearly_calculation, automatic_publishing)
     select 990 + n, true, false from generate_series(1, 5) n`,
  )
  await api.world.partnerPool.query(
    `insert into hotelier.hotel (hotel_id, code, name, latitude, longitude) values (998, 'H-9980', 'Beyond', 91, 181)`,
  )
  run = await runToEnd(api)
})

const routes = allRoutes(() => ({}))

/** An answer, once it has been computed. */
async function computed<T = Record<string, unknown>>(path: string): Promise<T> {
  let answer = await api.ask(path)
  await vi.waitFor(async () => {
    answer = await api.ask(path)
    expect(answer.status).not.toBe(202)
  }, patience)
  const text = await answer.text()
  expect(answer.status, text).toBe(200)
  return JSON.parse(text) as T
}

describe('every route that reads', () => {
  const paths: Record<string, () => Promise<string> | string> = {
    '/v1/runs/{run}': () => `/v1/runs/${run}`,
    '/v1/runs/{run}/progress': () => `/v1/runs/${run}/progress`,
    '/v1/runs/{run}/submissions': () => `/v1/runs/${run}/submissions`,
    '/v1/runs/{run}/waves': () => `/v1/runs/${run}/waves`,
    '/v1/runs/{run}/warnings': () => `/v1/runs/${run}/warnings`,
    '/v1/rows': () => '/v1/rows?state=rejected',
    '/v1/rows/causes': () => '/v1/rows/causes?state=parked',
    '/v1/hotels/{hotel}': () => '/v1/hotels/H-0001',
    '/v1/runs/{run}/live': () => `/v1/runs/${run}/live`,
    '/v1/hotels/{hotel}/values': () => '/v1/hotels/H-0001/values',
    '/v1/hotels/{hotel}/documents': () => '/v1/hotels/H-0001/documents',
    '/v1/variables/{variable}': async () => {
      const { variables } = await computed<{ variables: { variable_id: string }[] }>('/v1/variables')
      return `/v1/variables/${variables[0]?.variable_id}?year=2025`
    },
  }
  const read = routes.filter(({ method, answers }) => method === 'GET' && typeof answers[200] !== 'string')

  it.each(read.map(({ path, answers }) => ({ path, schema: answers[200] })))(
    'answers as it is described: $path',
    async ({ path, schema }) => {
      const answer = await computed(await (paths[path]?.() ?? path))
      if (!(schema instanceof z.ZodType)) throw new Error('no schema')
      expect(schema.safeParse(answer).error?.issues ?? []).toEqual([])
    },
  )

  it.each(read.filter(({ access }) => access === 'read').map(({ path }) => path))(
    'answers nobody without a token: %s',
    async (path) => {
      const there = await (paths[path]?.() ?? path)
      for (const headers of [{ authorization: 'Bearer wrong-token-that-is-long-enough' }, { authorization: '' }]) {
        const answer = await fetch(new URL(there, api.url), headers.authorization === '' ? {} : { headers })
        expect(answer.status).toBe(401)
        expect(answer.headers.get('www-authenticate')).toBe('Bearer')
        expect(await answer.json()).toMatchObject({ code: 'token_wrong' })
      }
    },
  )
})

describe('every route that acts', () => {
  const acts = routes.filter(({ access }) => access === 'act').map(({ path, method }) => [path, method] as const)

  const sent = (method: string) => (method === 'GET' ? {} : posted({}))

  it.each(some(acts))('refuses a token that only reads: %s', async (path, method) => {
    const answer = await api.ask(path.replace(/\{\w+\}/, '1').replace('jobs/1', 'jobs/nightly-sync'), {
      ...sent(method),
      headers: { ...bearer(tokens.read), 'content-type': 'application/json' },
    })
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({ code: 'token_reads_only' })
  })

  it.each(acts)('refuses a page of another origin: %s', async (path, method) => {
    const answer = await api.ask(path.replace(/\{\w+\}/, '1'), {
      ...sent(method),
      headers: { origin: 'https://evil.example', 'content-type': 'application/json' },
    })
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({ code: 'origin_refused' })
  })
})

describe('the description', () => {
  it('the description is valid OpenAPI', async () => {
    const source = await (await fetch(new URL('/openapi.json', api.url))).text()
    const config = await createConfig({ extends: ['spec'] })
    expect(
      (await lintFromString({ source, config })).map(({ message, location }) => [message, location[0]?.pointer]),
    ).toEqual([])
  })

  it('has every route and its answers', async () => {
    const { paths } = await api.json<{ paths: Record<string, Record<string, { responses: object }>> }>('/openapi.json')
    const described = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { responses }]) => [method.toUpperCase(), path, Object.keys(responses)]),
    )
    const expected = routes.map(({ method, path, answers }) => [method, path, [...Object.keys(answers), 'default']])
    const sorted = (list: unknown[]) => list.map((one) => JSON.stringify(one)).sort()
    expect(sorted(described)).toEqual(sorted(expected))
  })
})

describe('a stream that there is not', () => {
  it.each<[string, RequestInit | undefined]>([
    ['/v1/rows?state=rejected&stream=propertys', undefined],
    ['/v1/rows/causes?state=parked&stream=propertys', undefined],
    ['/v1/rows/parked-groups?stream=propertys', undefined],
    ['/v1/drift?stream=propertys', undefined],
    ['/v1/rows/retry', posted({ stream: 'propertys' })],
    ['/v1/rows/resend', posted({ stream: 'propertys', dryRun: true })],
  ])('a stream that does not exist is refused, not taken for empty: %s names those that exist', async (path, init) => {
    const answer = await api.json(path, init, 404)
    expect(answer).toMatchObject({ code: 'stream_unknown', detail: expect.stringContaining('properties, ') })
  })
})

it('a resend says how many rows the service changed later, and takes them only with their difference', async () => {
  const asked = (body: object) => posted({ ...body, dryRun: true })
  const found = await api.json('/v1/rows/resend', asked({ difference: 'different' }))
  expect(found).toMatchObject({ total: 0, later: 0 })
  const refused = await api.json('/v1/rows/resend', asked({ alsoLater: true }), 400)
  expect(refused).toMatchObject({ code: 'request_malformed', detail: expect.stringContaining('difference') })
})

it('the searches say how each went last, with what its pages held', async () => {
  const { searches } = await api.json<{ searches: object[] }>('/v1/searches')
  expect(searches).toMatchObject([
    { kind: 'calculators_search', name: '', run_id: run, state: 'settled', task_status: 'Success', withheld: null },
  ])
  expect(searches[0]).toMatchObject({ pages: expect.any(Number), companies: expect.any(Number), failed_pages: 0 })
})

describe('rows', () => {
  it('come page by page, none twice and none left out', async () => {
    const all = await api.json<{ rows: { row_key: string; stream: string }[] }>('/v1/rows?state=parked&limit=1000')
    const paged: object[] = []
    let cursor = ''
    for (let pages = 0; pages < 100; pages++) {
      const page = await api.json<{ rows: object[]; next: string | null }>(`/v1/rows?state=parked&limit=2${cursor}`)
      paged.push(...page.rows)
      if (page.next === null) break
      cursor = `&cursor=${page.next}`
    }
    expect(all.rows.length).toBeGreaterThan(4)
    expect(paged).toEqual(all.rows)
  })

  it('rows are grouped by their cause, and the sums agree with the status', async () => {
    const { streams } = await api.json<{ streams: { rejected: number; invalid: number; parked: number }[] }>(
      '/v1/status',
    )
    for (const state of ['rejected', 'invalid', 'parked'] as const) {
      const { causes } = await api.json<{ causes: { rows: number }[] }>(`/v1/rows/causes?state=${state}`)
      expect(causes.reduce((sum, { rows }) => sum + rows, 0)).toBe(
        streams.reduce((sum, stream) => sum + stream[state], 0),
      )
      expect(causes.length, state).toBeGreaterThan(0)
    }
  })

  it('rows that were rejected are marked for a retry, once, and the action says who asked', async () => {
    const body = { all: true }
    const dry = await api.json<{ streams: { rows: number }[] }>('/v1/rows/retry', posted({ ...body, dryRun: true }))
    const marked = await api.json<{ streams: object[] }>('/v1/rows/retry', {
      ...posted(body),
      headers: { 'content-type': 'application/json', 'x-nightferry-by': 'Ann' },
    })
    expect(marked).toEqual(dry)
    expect(dry.streams.length).toBeGreaterThan(0)
    const { rows } = await api.world.pool.query(
      'select verb, acted_by, rows from action order by action_id desc limit 1',
    )
    expect(rows[0]).toMatchObject({ verb: 'retry', acted_by: expect.stringContaining('Ann (HTTP API)') })
  })
})

it('a job that is paused starts only when it is resumed, and both are written down', async () => {
  expect(await api.json('/v1/jobs/push/pause', posted({ reason: 'audit' }))).toEqual({ paused: true })
  expect(await api.json('/v1/jobs/push/runs', posted({}), 409)).toMatchObject({ code: 'job_paused' })
  const { jobs } = await api.json<{ jobs: { job: string; paused: { reason: string } | null }[] }>('/v1/jobs')
  expect(jobs.find(({ job }) => job === 'push')?.paused).toMatchObject({ reason: 'audit' })
  expect(await api.json('/v1/jobs/push/resume', posted({}))).toEqual({ paused: false })
  const { rows } = await api.world.pool.query('select verb, asked, result from action order by action_id desc limit 2')
  expect(rows).toMatchObject([
    { verb: 'resume', asked: { job: 'push' }, result: 'resumed' },
    { verb: 'pause', asked: { job: 'push', reason: 'audit' }, result: 'paused' },
  ])
})

it('a hotel is suspended and resumed, and a pilot begun and ended, and who did it is listed', async () => {
  const reason = 'sold'
  expect(await api.json('/v1/hotels/H-0004/suspend', posted({ reason }))).toMatchObject({ suspended: ['H-0004'] })
  expect(await api.json('/v1/pilot', posted({ hotels: ['H-0005'], reason: 'go-live' }))).toMatchObject({
    hotels: ['H-0005'],
  })
  const pilot = { reason: 'go-live', hotels: [{ partner_id: 'H-0005', from_next_run: false }], ended_at: null }
  expect(await api.json('/v1/suspensions')).toMatchObject({
    pilot,
    suspended: [{ partner_id: 'H-0004', reason, suspended_by: expect.stringContaining('HTTP API'), resumed_at: null }],
    next: null,
  })
  expect(await api.json('/v1/hotels/H-0004')).toMatchObject({ suspended: { by: 'hotel', reason } })
  expect(await api.json('/v1/hotels/H-0006')).toMatchObject({ suspended: { by: 'pilot', reason: 'go-live' } })
  expect(await api.json('/v1/pilot', posted({ hotels: ['H-0004'], reason }), 409)).toMatchObject({
    code: 'hotel_suspended',
  })
  expect(await api.json('/v1/hotels/H-0004/resume', posted({}))).toMatchObject({ resumed: ['H-0004'] })
  expect(await api.json('/v1/pilot/end', posted({}))).toEqual({ ended: true })
  expect(await api.json('/v1/pilot/end', posted({}), 409)).toMatchObject({ code: 'pilot_unknown' })
  expect(await api.json('/v1/hotels/H-99/suspend', posted({ reason }), 404)).toMatchObject({ code: 'hotel_unknown' })
  expect(await api.json('/v1/hotels/H-0004/suspend', posted({}), 400)).toMatchObject({ code: 'request_malformed' })
})

it('a hotel is found by the id of its company with blanks around it', async () => {
  const hotel = await api.json<{ company: { company_id: string } }>('/v1/hotels/H-0001')
  const companyId = hotel.company.company_id.toUpperCase()
  expect(await api.json(`/v1/hotels/%20${companyId}%20`)).toMatchObject({ partner_id: 'H-0001' })
})

describe('what is refused', () => {
  it.each([
    ['/v1/runs/999999', 404, 'run_unknown'],
    ['/v1/hotels/H-9999999', 404, 'hotel_unknown'],
    ['/v1/nothing', 404, 'route_unknown'],
    ['/v1/runs/none', 400, 'request_malformed'],
    ['/v1/runs?limit=0', 400, 'request_malformed'],
    ['/v1/runs?limit=1001', 400, 'request_malformed'],
    ['/v1/runs?limt=10', 400, 'request_malformed'],
    ['/v1/rows', 400, 'request_malformed'],
    ['/v1/rows?state=accepted', 400, 'request_malformed'],
    ['/v1/rows?state=parked&cursor=nonsense', 400, 'request_malformed'],
    ['/v1/rows?state=parked&since=yesterday', 400, 'request_malformed'],
    ['/v1/rows?state=parked&state=rejected', 400, 'request_malformed'],
    ['/v1/rows?state=parked&partnerId=%00', 400, 'request_malformed'],
    [
      `/v1/rows?state=parked&cursor=${Buffer.from('{"at":"2026-99-99 1","rowId":1}').toString('base64url')}`,
      400,
      'request_malformed',
    ],
    ['/v1/hotels/%00', 400, 'request_malformed'],
    ['/v1/hotels/%zz', 400, 'request_malformed'],
  ])('what is refused is told of with its code: GET %s', async (path, status, code) => {
    const answer = await api.ask(path)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(await answer.json()).toMatchObject({ status, code, detail: expect.stringMatching(/\w/) })
    expect(answer.status).toBe(status)
  })

  // A SQL Server gives such ids in sequence; no UUID of RFC 9562 has this version and variant.
  const sequentialId = '6FD1B3E5-EC4A-0B11-0812-000D3A2B1C2D'

  it.each([
    ['/v1/rows/retry', {}, 400, 'request_malformed'],
    ['/v1/rows/retry', { all: 'yes' }, 400, 'request_malformed'],
    ['/v1/rows/retry', { everything: true }, 400, 'request_malformed'],
    ['/v1/rows/retry', { reason: 'a\u0000b' }, 400, 'request_malformed'],
    ['/v1/removals/accept', {}, 400, 'request_malformed'],
    ['/v1/submissions/999999/abandon', {}, 404, 'submission_unknown'],
    ['/v1/submissions/1/abandon', {}, 409, 'submission_state'],
    ['/v1/submissions/999999/adopt', { correlationId: 'soon' }, 400, 'request_malformed'],
    ['/v1/submissions/999999/adopt', { correlationId: sequentialId }, 404, 'submission_unknown'],
    ['/v1/runs/1/approve', {}, 409, 'nothing_to_approve'],
    ['/v1/jobs/no-such-job/runs', {}, 404, 'job_unknown'],
    ['/v1/jobs/no-such-job/pause', {}, 404, 'job_unknown'],
    ['/v1/jobs/push/runs', { only: ['no-such-step'] }, 400, 'job_option_refused'],
  ])('what is refused is told of with its code: POST %s %j', async (path, body, status, code) => {
    expect(await api.json(path, posted(body), status)).toMatchObject({ status, code })
  })

  it('the API refuses a body that is too large, no JSON, or of another media type', async () => {
    const path = '/v1/rows/retry'
    const json = { 'content-type': 'application/json' }
    const wrong: [RequestInit, number][] = [
      [{ method: 'POST', headers: json, body: `{"reason":"${'x'.repeat(70_000)}"}` }, 413],
      [{ method: 'POST', headers: json, body: '{' }, 400],
      [{ method: 'POST', headers: { 'content-type': 'text/xml' }, body: '<a/>' }, 415],
    ]
    for (const [init, status] of wrong) {
      expect(await api.json(path, init, status)).toMatchObject({ status, code: 'request_malformed' })
    }
  })

  it('the API refuses an unknown method, and the answer names those that are known', async () => {
    const answer = await api.ask('/v1/runs', { method: 'DELETE' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
  })

  it('the API refuses another host, as a page whose name leads to loopback would send it', async () => {
    const { request } = await import('node:http')
    const status = await new Promise<number | undefined>((resolve, reject) => {
      request(api.url, { path: '/livez', headers: { host: 'evil.example' } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(421)
  })
})

it('a secret that got into a report is not answered', async () => {
  const { rows } = await api.world.pool.query<{ run_id: number }>(
    `insert into run (job, trigger, scheduled_for, state, step, failure, verdict, finished_at)
     values ('push', 'cli', now(), 'failed', 'push', $1, 'failed', now()) returning run_id`,
    [{ code: 'internal_error', message: `it said ${tokens.act}`, step: 'push' }],
  )
  const id = rows[0]?.run_id
  const text = await (await api.ask(`/v1/runs/${id}`)).text()
  expect(text).toContain('it said ********')
  await api.world.pool.query('delete from run where run_id = $1', [id])
})

it('the API makes one plan if several are asked for at once', async () => {
  const answers = await Promise.all([1, 2, 3].map(() => api.ask('/v1/plan', posted({}))))
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409])
})

it('a plan is made with a key that is new to the ledger, whose profile only the run asks for', async () => {
  await api.world.pool.query('delete from destination_key')
  const { remarks, more } = await api.json<{ remarks: string[]; more: object }>('/v1/plan', posted({}))
  expect(remarks).toEqual([expect.stringContaining('API key is new to this ledger')])
  expect(more).toEqual({ invalid: false, parked: false, rejected: false, rows: false })
})

it('a plan that nobody waits for is given by its number once it is made, and the one before no longer', async () => {
  const { plan } = await api.json<{ plan: number }>('/v1/plan', posted({ wait: false }), 202)
  await vi.waitFor(
    async () => expect(await api.json('/v1/plan', posted({ plan }))).toMatchObject({ waves: expect.any(Array) }),
    { timeout: 60_000, interval: 50 },
  )
  // Asked for again, it is the same.
  const kept = await api.json('/v1/plan', posted({ plan }))
  expect(await api.json('/v1/plan', posted({ plan }))).toEqual(kept)
  const next = await api.json<{ plan: number }>('/v1/plan', posted({ wait: false }), 202)
  expect(next.plan).toBe(plan + 1)
  expect(await api.json('/v1/plan', posted({ plan }), 404)).toMatchObject({ code: 'plan_unknown' })
  await vi.waitFor(async () => expect((await api.ask('/v1/plan', posted({ plan: next.plan }))).status).toBe(200), {
    timeout: 60_000,
    interval: 50,
  })
})

describe('health', () => {
  it('needs no token, is kept by no cache, and shows no secret', async () => {
    for (const path of ['/livez', '/readyz', '/freshz']) {
      const answer = await fetch(new URL(path, api.url))
      expect(answer.status, path).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })
})

describe('metrics', () => {
  it('metrics are named by the conventions, and agree with the status', async () => {
    const text = await (await fetch(new URL('/metrics', api.url))).text()
    const { streams } = await api.json<{ streams: { stream: string; accepted: number }[] }>('/v1/status')
    for (const { stream, accepted } of some(streams)) {
      expect(text).toContain(`nightferry_rows{stream="${stream}",state="accepted"} ${accepted}\n`)
    }
    expect(text).toMatch(/nightferry_runs_total\{run_job="nightly-sync",verdict="\w+"\} [1-9]\n/)
    expect(text).toMatch(/nightferry_service_call_duration_seconds_count\{method="POST",outcome="answered"\} [1-9]/)
    const names = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, type]) => ({ name, type }))
    for (const { name = '', type } of some(names.filter(({ name = '' }) => name.startsWith('nightferry_')))) {
      expect(text).toContain(`# HELP ${name} `)
      expect(name.endsWith('_total')).toBe(type === 'counter')
      expect(name).toMatch(/^nightferry_[a-z_]+$/)
      expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb)$/)
    }
  })

  it('no metric has a label that Prometheus, or what finds daemons for it, gives to all that it reads', async () => {
    const text = await (await fetch(new URL('/metrics', api.url))).text()
    const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    const ours = samples.flatMap((sample) => labelsOf(sample).map((label) => ({ label, sample })))
    for (const { label, sample } of some(ours)) {
      expect(label === 'le' ? sample.includes('_bucket{') : !given.test(label), sample).toBe(true)
    }
  })
})

/** Labels that a scraper gives to all that it reads. Ours of such a name is stored as exported_job, for instance. */
const given = /^(job|instance|namespace|service|endpoint|pod|container|node|alertname|severity|quantile|__.*)$/

/** The names of the labels of one sample. */
function labelsOf(sample: string): string[] {
  return [...sample.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, label = '']) => label)
}

describe('docs/monitoring.md, the alert rules and the board', () => {
  const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

  it('name exactly the metrics that there are', async () => {
    const text = await (await fetch(new URL('/metrics', api.url))).text()
    const served = [...text.matchAll(/^# TYPE (nightferry_\w+) /gm)].map(([, name]) => name)
    const listed = [...file('docs/monitoring.md').matchAll(/^\| `(nightferry_\w+)`/gm)].map(([, name]) => name)
    expect(new Set(listed)).toEqual(new Set(served))
    for (const path of ['config/monitoring/alerts.yaml', 'config/monitoring/grafana.json']) {
      const named = [...file(path).matchAll(/\bnightferry_\w+/g)].map(([name]) =>
        name.replace(/_(bucket|count|sum)$/, ''),
      )
      for (const name of some(named)) expect(served, path).toContain(name)
    }
  })

  it('neither select nor group by a label that the scraper gives', () => {
    for (const path of ['config/monitoring/alerts.yaml', 'config/monitoring/grafana.json']) {
      const grouped = [...file(path).matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '))
      const selected = [...file(path).matchAll(/[{,] *(\w+)=/g)].map(([, label = '']) => label)
      for (const label of some([...grouped, ...selected])) expect(label, path).not.toMatch(given)
    }
  })
})

it('the API follows a run by events until it has ended', async () => {
  const { run: second } = await api.json<{ run: number }>('/v1/jobs/nightly-sync/runs', posted({}), 202)
  const joined = await api.json<{ run: number; joined: boolean }>('/v1/jobs/nightly-sync/runs', posted({}), 202)
  expect(joined).toEqual({ run: second, joined: true, older_watermarks: [] })
  const answer = await api.ask(`/v1/runs/${second}/events`)
  expect(answer.headers.get('content-type')).toContain('text/event-stream')
  const events = (await answer.text()).trim().split('\n\n')
  expect(events.length).toBeGreaterThan(1)
  const last = events.at(-1) ?? ''
  expect(last).toMatch(/^event: end\ndata: /)
  expect(JSON.parse(last.slice(last.indexOf('{')))).toMatchObject({ run_id: second, state: 'finished' })
})
