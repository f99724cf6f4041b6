import type { ServerResponse } from 'node:http'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { nightferryProcess, workingFolder } from '../cli/nightferry-process.ts'
import { type HttpServer, httpServer } from '../exchange/fault-server.ts'
import { secretsIn } from '../helpers/canaries.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

type Attribute = { key: string; value: { stringValue?: string; intValue?: number | string; doubleValue?: number } }
type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  status: { code?: number; message?: string }
}
type Export = { resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Span[] }[] }[] }

const world = await ofThisFile(startWorld({ hotels: 5 }))
const folder = await ofThisFile(workingFolder())

const night = (environment: Record<string, string>, ...more: string[]) =>
  nightferryProcess(folder.path, ['run', 'nightly-sync', '--config', demoConfig, ...more], {
    ...world.environment(),
    ...environment,
  })
const toCollector = ({ url }: HttpServer) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
})
const taken = ({ seen }: HttpServer) => seen.map(({ body }) => JSON.parse(body) as Export)
const spansIn = (collector: HttpServer) =>
  taken(collector).flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  )
const attributesOf = ({ attributes }: { attributes: Attribute[] }) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]))
const okay = (_: unknown, response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')

test('a run leaves one trace: the run, its steps, its requests, and what took the time of each', async () => {
  await using collector = await httpServer(okay)
  const ended = await night(toCollector(collector), '--json')
  expect(ended.code, ended.stderr).toBe(0)
  const report = JSON.parse(ended.stdout) as { run_id: number; submissions: { kind: string }[] }

  const spans = spansIn(collector)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  const roots = spans.filter(({ parentSpanId }) => (parentSpanId ?? '') === '')
  expect(roots.map(({ name }) => name)).toEqual(['run nightly-sync'])
  const [root] = roots as [Span]
  expect(attributesOf(root)).toMatchObject({
    'nightferry.run.id': report.run_id,
    'nightferry.run.trigger': 'cli',
    'nightferry.run.verdict': 'succeeded',
  })
  const named = (name: string) => spans.filter((span) => span.name === name)
  const childrenOf = ({ spanId }: Span) => spans.filter(({ parentSpanId }) => parentSpanId === spanId)
  const steps = childrenOf(root).map(({ name }) => name)
  expect(steps.at(-1)).toBe('step report')
  expect(steps).toEqual(expect.arrayContaining(['step reference', 'step push', 'step pull']))

  const requests = spans.filter(({ name }) => name.startsWith('request '))
  const { rows: sent } = await world.pool.query<{ kind: string }>('select kind from submission order by submission_id')
  expect(requests.map(({ name }) => name)).toEqual(sent.map(({ kind }) => `request ${kind}`))
  for (const request of requests) {
    const parts = childrenOf(request).map(({ name }) => name)
    expect(parts).toEqual(expect.arrayContaining(['send', 'task of the service', 'settle']))
    expect(attributesOf(request)['nightferry.task.correlation_id']).toMatch(/^[0-9a-f-]{36}$/)
  }
  expect(named('load pages').map((span) => attributesOf(span)['nightferry.pages'])).toContain(1)
  for (const { startTimeUnixNano: from, endTimeUnixNano: to } of spans) {
    expect(BigInt(to)).toBeGreaterThanOrEqual(BigInt(from))
    expect(BigInt(from)).toBeGreaterThanOrEqual(BigInt(root.startTimeUnixNano))
    expect(BigInt(to)).toBeLessThanOrEqual(BigInt(root.endTimeUnixNano))
  }
  const [first] = taken(collector)
  expect(attributesOf(first?.resourceSpans[0]?.resource ?? { attributes: [] })).toMatchObject({
    'service.name': 'nightferry',
  })
  const all = collector.seen.map(({ body }) => body).join('')
  expect(secretsIn(all)).toEqual([])
  expect(all).not.toMatch(/H-0001|Hotel/)
}, 120_000)

test('a run that failed leaves a trace that says so, under the name that the variables give the service', async () => {
  await using collector = await httpServer(okay)
  const unreachable = { EXCHANGE_BASE_URL: 'http://127.0.0.1:9', NIGHTFERRY_EXCHANGE_GIVE_UP_AFTER_MS: '1000' }
  const named = { OTEL_SERVICE_NAME: 'ferry-of-ours', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20who-asks' }
  expect(await night({ ...toCollector(collector), ...unreachable, ...named })).toMatchObject({ code: 1 })
  const root = spansIn(collector).find(({ name }) => name === 'run nightly-sync')
  expect(root?.status).toEqual({ code: 2, message: 'exchange_unreachable' })
  const [first] = taken(collector)
  expect(attributesOf(first?.resourceSpans[0]?.resource ?? { attributes: [] })['service.name']).toBe('ferry-of-ours')
  expect(collector.seen[0]).toMatchObject({ path: '/v1/traces', headers: { authorization: 'Bearer who-asks' } })
}, 120_000)

test('traces go out as protobuf unless the variables say otherwise', async () => {
  await using collector = await httpServer(okay)
  expect(await night({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces` })).toMatchObject({ code: 0 })
  expect(collector.seen[0]).toMatchObject({
    method: 'POST',
    path: '/v1/traces',
    headers: { 'content-type': 'application/x-protobuf' },
  })
}, 120_000)

test.each([
  ['none of the variables is set', {}],
  ['the SDK is disabled', { OTEL_SDK_DISABLED: 'true' }],
  ['the exporter is none', { OTEL_TRACES_EXPORTER: 'none' }],
])(
  'no trace leaves where %s',
  async (_, off) => {
    await using collector = await httpServer(okay)
    const given = Object.keys(off).length === 0 ? {} : toCollector(collector)
    const ended = await night({ ...given, ...off, NIGHTFERRY_LOG_LEVEL: 'debug' })
    expect(ended.code, ended.stderr).toBe(0)
    expect(collector.seen).toEqual([])
    expect(ended.stderr).not.toContain('run_traced')
  },
  120_000,
)

test('a collector that refuses is named in the log without the key for it, and the run is what it is', async () => {
  await using collector = await httpServer((_, response) => response.writeHead(401).end('no entry'))
  const key = { OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=key-of-the-collector' }
  const ended = await night({ ...toCollector(collector), ...key, NIGHTFERRY_LOG_LEVEL: 'debug' })
  expect(ended.code, ended.stderr).toBe(0)
  expect(collector.seen.length).toBeGreaterThan(0)
  expect(ended.stderr).toMatch(/"msg":"telemetry_trouble"/)
  expect(ended.stderr).not.toContain('key-of-the-collector')
}, 120_000)

test.each([
  ['cannot be read', 'http://ferry:key-of-the-collector@127.0.0.1:99999/v1'],
  ['leads nowhere', 'http://ferry:key-of-the-collector@127.0.0.1:9/v1'],
])(
  'a collector whose address %s is named in the log without the password in the address',
  async (_, OTEL_EXPORTER_OTLP_ENDPOINT) => {
    const ended = await night({ OTEL_EXPORTER_OTLP_ENDPOINT, NIGHTFERRY_LOG_LEVEL: 'debug' })
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stderr).toMatch(/"msg":"telemetry_trouble"/)
    expect(ended.stderr).not.toContain('key-of-the-collector')
  },
  120_000,
)

test('tracing that was set up before the program is used, and not set up twice', async () => {
  await using collector = await httpServer(okay)
  const preload = pathToFileURL(`${import.meta.dirname}/fixtures/tracing-set-up.ts`).href
  const ended = await night({ ...toCollector(collector), NODE_OPTIONS: `--import ${preload}` })
  expect(ended.code, ended.stderr).toBe(0)
  expect(spansIn(collector).filter(({ name }) => name === 'run nightly-sync')).toHaveLength(1)
  const services = taken(collector).flatMap(({ resourceSpans }) =>
    resourceSpans.map(({ resource }) => attributesOf(resource)['service.name']),
  )
  expect(new Set(services)).toEqual(new Set(['set-up-before']))
}, 120_000)

test('where the variables ask for traces and the library is not installed, the run says how to install it', async () => {
  await using collector = await httpServer(okay)
  const missing = pathToFileURL(`${import.meta.dirname}/fixtures/without-sdk.ts`).href
  const ended = await night({
    ...toCollector(collector),
    NODE_OPTIONS: `--import ${missing}`,
    NIGHTFERRY_LOG_LEVEL: 'debug',
  })
  expect(ended.code, ended.stderr).toBe(0)
  expect(ended.stderr).toContain('npm install @opentelemetry/sdk-node')
  expect(collector.seen).toEqual([])
}, 120_000)
