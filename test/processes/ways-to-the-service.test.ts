import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Finding } from '../../src/doctor/ward.ts'
import { nightferryProcess, workingFolder } from '../cli/nightferry-process.ts'
import { authority, valid } from '../exchange/certificates.ts'
import { unusedPort } from '../exchange/fault-server.ts'

/** What the doctor says of the key, at a service behind TLS whose authority is one of our own. */
async function keyAt(variables: (authorityFile: string) => Record<string, string>): Promise<Finding | undefined> {
  const service = createServer(valid, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  await using folder = await workingFolder()
  const file = join(folder.path, 'authority.pem')
  await writeFile(file, authority)
  try {
    const { stdout } = await nightferryProcess(folder.path, ['doctor', '--json'], {
      EXCHANGE_BASE_URL: `https://localhost:${(service.address() as AddressInfo).port}`,
      EXCHANGE_API_KEY: 'a-key',
      ...variables(file),
    })
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }
    return findings.find(({ id }) => id === 'service_key')
  } finally {
    service.closeAllConnections()
    service.close()
  }
}

test('a service whose certificate is of an authority of your own is trusted by NODE_EXTRA_CA_CERTS alone', async () => {
  expect(await keyAt(() => ({}))).toMatchObject({
    level: 'error',
    what: expect.stringContaining('certificate'),
    todo: expect.stringContaining('without a proxy'),
  })
  expect(await keyAt((file) => ({ NODE_EXTRA_CA_CERTS: file }))).toMatchObject({ level: 'ok' })
})

test('the service is called directly, whatever variables name a proxy', async () => {
  const proxy = `http://127.0.0.1:${await unusedPort()}`
  const named = { HTTPS_PROXY: proxy, https_proxy: proxy, ALL_PROXY: proxy, NODE_USE_ENV_PROXY: '1' }
  expect(await keyAt((file) => ({ ...named, NODE_EXTRA_CA_CERTS: file }))).toMatchObject({ level: 'ok' })
})
