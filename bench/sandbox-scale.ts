/**
 * How long the sandbox takes to make a large world, to search all of it and to hand the pages over, and how much memory
 * that needs: node bench/sandbox-scale.ts [--companies 100000] [--quick]
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { Agent, request } from 'undici'
import { loadContract } from '../src/exchange/contract.ts'
import { catalogue } from '../src/sandbox/catalogue.ts'
import { forgetPeak, memoryOf, watchBackends } from './memory.ts'
import { Opened } from './opened.ts'
import { type SandboxProcess, startSandboxProcess } from './sandbox-process.ts'

const { values } = parseArgs({
  options: { companies: { type: 'string', default: '100000' }, quick: { type: 'boolean', default: false } },
})
/** Small enough for every CI run; it shows that the benchmark works, not how fast anything is. */
const companies = values.quick ? 500 : Number(values.companies)
/** Every 50th hotel is unknown to the service. */
const hotels = Math.floor((companies * 50 - 1) / 49)

const contract = loadContract(fileURLToPath(new URL('../config/contract.yaml', import.meta.url)))
const agent = new Agent({ connections: 8, bodyTimeout: 600_000, headersTimeout: 600_000 })
const headers = { authorization: 'demo-key', 'content-type': 'application/json' }
const database = 'sandbox_scale'

type Row = { what: string; seconds?: number; bytes?: number; note?: string; sandboxPeak?: number; backendPeak?: string }
const rows: Row[] = []

await using opened = new Opened()
opened.defer(() => agent.close())
const folder = await opened.folder('scale')
const cluster = await opened.server(join(folder, 'postgres'))
await cluster.ensureDatabase(database)
const pool = new pg.Pool({ connectionString: cluster.url(database), max: 1 })
pool.on('error', () => {})
opened.defer(() => pool.end())

const options = ['--companies', String(hotels), '--calculators', '--database', database]
const instant = ['--pending-ms', '0', '--scheduled-ms', '0', '--duration', 'calculatorsSearch=0ms']
const sandbox = await measured('seeding', undefined, async () => {
  const started = await startSandboxProcess(folder, [...options, ...instant])
  opened.defer(() => started.stop())
  return { result: started, pid: started.pid, note: await countWorld() }
})
const pageUrls = await measured('searching all', sandbox, async () => {
  const urls = await search(sandbox)
  return { result: urls, bytes: await bytesOfFiles(), note: `${grouped(urls.length)} pages` }
})
for (const coding of ['identity', 'gzip']) {
  await measured(`downloading all, ${coding}`, sandbox, async () => ({
    result: undefined,
    bytes: await downloadAll(pageUrls, coding),
    note: '4 at a time',
  }))
}
printTable(`${grouped(companies)} companies`)

type Measured<T> = { result: T; pid?: number; bytes?: number; note?: string }

async function measured<T>(what: string, of: SandboxProcess | undefined, work: () => Promise<Measured<T>>): Promise<T> {
  if (of) forgetPeak(of.pid)
  const backends = watchBackends(pool)
  const start = performance.now()
  const { result, pid = of?.pid, bytes, note } = await work()
  const seconds = (performance.now() - start) / 1000
  const { resident, anonymous } = await backends.stop()
  rows.push({
    what,
    seconds,
    ...(bytes !== undefined && { bytes }),
    ...(note !== undefined && { note }),
    ...(pid !== undefined && { sandboxPeak: memoryOf(pid, 'VmHWM') }),
    backendPeak: `${megabytes(resident)} (${megabytes(anonymous)} its own)`,
  })
  return result
}

async function countWorld(): Promise<string> {
  const { rows: counted } = await pool.query<{ calculators: string; bytes: string }>(
    `select (select count(*) from sandbox.calculator) as calculators,
            pg_size_pretty(pg_total_relation_size('sandbox.calculator')) as bytes`,
  )
  return `${grouped(Number(counted[0]?.calculators))} calculators, ${counted[0]?.bytes}`
}

async function search({ url }: SandboxProcess): Promise<string[]> {
  const { names, endpoints, taskStatuses } = contract
  const body = JSON.stringify({ [names.calculatorsSearch.customPropertyIds]: [catalogue.customIdentifierId] })
  const submitted = await call(`${url}${endpoints.calculatorsSearch.path}`, 'POST', body)
  const path = endpoints.task.path.replace(/\{\w+\}/, String(submitted[names.submitted.correlationId]))
  for (;;) {
    const task = await call(`${url}${path}`, 'GET')
    const status = task[names.task.status]
    if (status === taskStatuses.success) return task[names.task.pageUrls] as string[]
    if (status === taskStatuses.error) throw new Error(`the search ended as ${JSON.stringify(task)}`)
    await delay(100)
  }
}

async function call(url: string, method: 'GET' | 'POST', body?: string): Promise<Record<string, unknown>> {
  const answer = await request(url, { method, headers, dispatcher: agent, ...(body !== undefined && { body }) })
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}: ${await answer.body.text()}`)
  return (await answer.body.json()) as Record<string, unknown>
}

async function bytesOfFiles(): Promise<number> {
  const { rows: sums } = await pool.query<{ bytes: string }>('select sum(bytes) as bytes from sandbox.file')
  return Number(sums[0]?.bytes)
}

/** Bytes on the wire. */
async function downloadAll(urls: readonly string[], coding: string): Promise<number> {
  let bytes = 0
  const left = [...urls]
  const download = async () => {
    for (let url = left.pop(); url !== undefined; url = left.pop()) {
      const answer = await request(url, { dispatcher: agent, headers: { 'accept-encoding': coding } })
      if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`)
      for await (const piece of answer.body) bytes += (piece as Buffer).length
    }
  }
  await Promise.all(Array.from({ length: 4 }, download))
  return bytes
}

function printTable(title: string): void {
  const lines = rows.map(({ what, seconds = 0, bytes, note = '', sandboxPeak = 0, backendPeak = '' }) => [
    what,
    `${seconds.toFixed(1)} s`,
    bytes === undefined ? '' : megabytes(bytes),
    bytes === undefined ? '' : `${(bytes / 1e6 / seconds).toFixed(0)} MB/s`,
    note,
    megabytes(sandboxPeak),
    backendPeak,
  ])
  const head = [title, 'time', 'bytes', 'speed', '', 'sandbox, peak RSS', 'largest backend, peak RSS']
  const widths = head.map((cell, at) => Math.max(cell.length, ...lines.map((line) => line[at]?.length ?? 0)))
  for (const line of [head, ...lines]) {
    process.stdout.write(
      `${line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    )
  }
}

function megabytes(bytes: number): string {
  return `${grouped(Math.round(bytes / 1e6))} MB`
}

function grouped(number: number): string {
  return number.toLocaleString('en-GB')
}
