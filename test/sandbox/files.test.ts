import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import { some } from '../helpers/some.ts'
import { mapHotels } from './bodies.ts'
import type { ErrorBody } from './documents.ts'
import { manualClock } from './manual-clock.ts'
import { type OpenSandbox, openSandbox } from './open-sandbox.ts'

let sandbox: OpenSandbox
afterEach(() => sandbox.close())

/** The address of the result file of a mapping. */
async function mappingFile(): Promise<{ id: string; url: URL }> {
  const { correlationId, file } = await sandbox.run('companyMappings', mapHotels(1))
  return { id: correlationId, url: new URL(file?.url ?? '') }
}

async function refusal(url: URL | string): Promise<[number, string]> {
  const response = await fetch(url)
  return [response.status, ((await response.json()) as ErrorBody).errorCode]
}

describe('result files', () => {
  it('lie on an origin of their own, and the API knows nothing of them', async () => {
    sandbox = await openSandbox()
    const { url } = await mappingFile()
    expect(url.origin).not.toBe(sandbox.url)
    expect((await fetch(url)).status).toBe(200)
    expect(await refusal(`${sandbox.url}${url.pathname}${url.search}`)).toEqual([404, 'endpoint_not_found'])
    expect(await refusal(`${url.origin}/api/v1/unit-types`)).toEqual([404, 'endpoint_not_found'])
  })

  it('no result file is found at an address that cannot be read, which is refused as all errors are', async () => {
    sandbox = await openSandbox()
    const { url } = await mappingFile()
    for (const origin of [sandbox.url, url.origin]) {
      expect(await refusal(`${origin}/files/%ff`)).toEqual([400, 'request_malformed'])
    }
    expect(await refusal(`${url.origin}/files/${'x'.repeat(300)}`)).toEqual([403, 'file_address_invalid'])
  })

  it('result files of several pieces are the same with and without gzip, with a checksum and a length that are right', async () => {
    sandbox = await openSandbox({ companies: 5000, pageSize: 10_000 })
    const [url = ''] = (await sandbox.run('calculatorsSearch', {})).pageUrls ?? []
    const plain = await fetch(url, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBeNull()
    const text = await plain.text()
    expect(plain.headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
    const { rows } = await sandbox.pool.query('select count(*)::int as pieces from sandbox.file_chunk')
    expect(rows[0].pieces).toBeGreaterThan(2)

    const zipped = await fetch(url, { headers: { 'accept-encoding': 'br;q=0, gzip' } })
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(await zipped.text()).toBe(text)
    // fetch forgives a wrong checksum; this does not.
    expect(gunzipSync(await gzippedBytes(url)).toString('utf8')).toBe(text)
  })

  it('result files are sent plain to anyone who gives gzip the weight 0', async () => {
    sandbox = await openSandbox()
    const { url } = await mappingFile()
    const refused = await fetch(url, { headers: { 'accept-encoding': 'gzip;q=0' } })
    expect(refused.headers.get('content-encoding')).toBeNull()
    await refused.body?.cancel()
  })

  it('need no key and look at none, and the log tells whether one came but not the signature', async () => {
    sandbox = await openSandbox()
    const { id, url } = await mappingFile()
    for (const headers of [{}, { authorization: 'demo-key' }, { authorization: 'no key at all' }]) {
      expect((await fetch(url, { headers })).status).toBe(200)
    }
    const { rows } = await sandbox.pool.query(
      `select path, http_status, correlation_id, key_sent from sandbox.request_log where path like '/files/%' order by id`,
    )
    const line = { path: url.pathname, http_status: 200, correlation_id: id }
    expect(rows).toEqual([false, true, true].map((key_sent) => ({ ...line, key_sent })))
    const { body } = await sandbox.call<{ lines: { path: string; keySent: boolean | null }[] }>('GET', '/sandbox/log')
    expect(body.lines.filter((each) => each.path === url.pathname).map(({ keySent }) => keySent)).toEqual([
      false,
      true,
      true,
    ])
    const signature = url.searchParams.get('signature') ?? ''
    const { rows: leaks } = await sandbox.pool.query(
      'select from sandbox.request_log l where strpos(l::text, $1) > 0 or strpos(l::text, $2) > 0',
      [signature, 'signature'],
    )
    expect(leaks).toEqual([])
  })

  it('have the public address of the files when there is one', async () => {
    sandbox = await openSandbox({ publicFilesUrl: 'https://files.example.com/exchange/' })
    const { url } = await mappingFile()
    expect(url.href).toMatch(
      /^https:\/\/files\.example\.com\/exchange\/files\/[\w-]{43}\?expires=\d+&signature=[\w-]{43}$/,
    )
  })
})

describe('the address of a result file', () => {
  it('expires after its lifetime, and the task has a fresh one', async () => {
    const clock = manualClock()
    sandbox = await openSandbox({ clock, fileUrlLifetimeMs: 60_000 })
    const { id, url } = await mappingFile()
    expect(url.searchParams.get('expires')).toBe(String(clock.now() / 1000 + 60))
    clock.advance(60_000)
    expect((await fetch(url)).status).toBe(200)
    clock.advance(1)
    expect(await refusal(url)).toEqual([403, 'file_address_expired'])
    const fresh = (await sandbox.task(id)).file?.url ?? ''
    expect(fresh).not.toBe(url.href)
    expect((await fetch(fresh)).status).toBe(200)
  })

  it('the address of a result file is good for an hour unless another lifetime was chosen', async () => {
    const clock = manualClock()
    sandbox = await openSandbox({ clock })
    expect((await mappingFile()).url.searchParams.get('expires')).toBe(String(clock.now() / 1000 + 3600))
  })

  it('the address of a result file is refused when any part of it is altered, left out or given twice', async () => {
    sandbox = await openSandbox()
    const { url } = await mappingFile()
    const altered = (change: (copy: URL) => void) => {
      const copy = new URL(url)
      change(copy)
      return copy
    }
    const { searchParams } = url
    const expires = Number(searchParams.get('expires'))
    const forged = [
      altered((copy) => copy.searchParams.set('expires', String(expires + 1))),
      altered((copy) => copy.searchParams.set('expires', `${expires}.0`)),
      altered((copy) => copy.searchParams.set('expires', `0${expires}`)),
      altered((copy) => copy.searchParams.delete('expires')),
      altered((copy) => copy.searchParams.delete('signature')),
      altered((copy) => copy.searchParams.append('expires', String(expires))),
      altered((copy) => copy.searchParams.append('signature', searchParams.get('signature') ?? '')),
      altered((copy) => copy.searchParams.set('signature', '')),
      altered((copy) => {
        copy.pathname = `/files/${'A'.repeat(43)}`
      }),
      altered((copy) => {
        copy.pathname = '/files/x'
      }),
    ]
    for (const copy of some(forged))
      expect([copy.search, ...(await refusal(copy))]).toEqual([copy.search, 403, 'file_address_invalid'])
  })

  it('outlives a restart on another port, and opens nothing in another world', async () => {
    sandbox = await openSandbox()
    const { id, url } = await mappingFile()
    await sandbox.stop()
    await sandbox.start()
    const { origin } = new URL((await sandbox.task(id)).file?.url ?? '')
    expect((await fetch(`${origin}${url.pathname}${url.search}`)).status).toBe(200)
    await using elsewhere = { sandbox: await openSandbox(), [Symbol.asyncDispose]: () => elsewhere.sandbox.close() }
    const other = await elsewhere.sandbox.run('companyMappings', mapHotels(1))
    const otherOrigin = new URL(other.file?.url ?? '').origin
    expect(await refusal(`${otherOrigin}${url.pathname}${url.search}`)).toEqual([403, 'file_address_invalid'])
  })

  it('leads to nothing once the file is gone', async () => {
    sandbox = await openSandbox()
    const { url } = await mappingFile()
    await sandbox.pool.query('delete from sandbox.file')
    expect(await refusal(url)).toEqual([404, 'file_not_found'])
  })
})

/** What fetch would have unpacked. */
async function gzippedBytes(url: string): Promise<Buffer> {
  const { body } = await request(url, { headers: { 'accept-encoding': 'gzip' } })
  return Buffer.from(await body.arrayBuffer())
}
