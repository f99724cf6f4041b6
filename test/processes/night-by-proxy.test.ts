import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { expect, test } from 'vitest'
import { loadContract } from '../../src/exchange/contract.ts'
import { startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { nightferryProcess, workingFolder } from '../cli/nightferry-process.ts'
import { authority, elsewhere } from '../exchange/certificates.ts'
import { unusedPort } from '../exchange/fault-server.ts'
import { canaries, canary, canaryKeys } from '../helpers/canaries.ts'
import { connectProxy, withCredentials } from '../helpers/connect-proxy.ts'
import { inspectedLogger } from '../helpers/leaks.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { demoConfig, packagedContract, startWorld } from '../helpers/world.ts'

/** Nobody but the proxy knows where this is. */
const host = 'elsewhere.example'

/** TLS in front of a server of this machine. */
async function tlsFront(target: number) {
  const server = createServer(elsewhere, (near) => {
    const far = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: async () => void server.close() }
}

test('a whole night goes through a proxy that wants a password, to a service that no other way leads to', async () => {
  await using world = await startWorld({ hotels: 8, migrated: false })
  await using database = await testDatabase({ template: 'empty' })
  const [port, filesPort] = [await unusedPort(), await unusedPort()]
  await using apiFront = await tlsFront(port)
  await using filesFront = await tlsFront(filesPort)
  const sandbox = await startSandbox({
    databaseUrl: database.url,
    contract: loadContract(packagedContract),
    port,
    filesPort,
    seed: 7,
    apiKeys: canaryKeys,
    logger: inspectedLogger(),
    companies: 60,
    publicUrl: `https://${host}:${apiFront.port}`,
    publicFilesUrl: `https://${host}:${filesFront.port}`,
  })
  try {
    const password = canary('proxy')
    await using proxy = await connectProxy({
      lead: (to) => ({ port: Number(to.split(':')[1]) }),
      credentials: `hotels:${password}`,
    })
    await using folder = await workingFolder()
    const authorityFile = join(folder.path, 'authority.pem')
    const proxyFile = join(folder.path, 'proxy')
    await writeFile(authorityFile, authority)
    await writeFile(proxyFile, withCredentials(proxy.url, `hotels:${password}`), { mode: 0o600 })
    const environment = {
      ...world.environment(),
      EXCHANGE_BASE_URL: `https://${host}:${apiFront.port}`,
      EXCHANGE_API_KEY: canaries.apiKey,
      NODE_EXTRA_CA_CERTS: authorityFile,
      NIGHTFERRY_EXCHANGE_PROXY_FILE: proxyFile,
    }
    const args = ['run', 'nightly-sync', '--config', demoConfig, '--json']
    const night = await nightferryProcess(folder.path, args, environment)
    expect(night).toMatchObject({ code: expect.toBeOneOf([0, 3]) })
    const { rows } = await world.pool.query<{ accepted: number; values: number }>(
      `select (select count(*)::int from acceptance where accepted_hash is not null) as accepted,
              (select count(*)::int from calculator_value) as values`,
    )
    expect(rows[0]?.accepted).toBeGreaterThan(0)
    expect(rows[0]?.values).toBeGreaterThan(0)
    const led = new Set(proxy.asked.map(([to, status]) => `${to} ${status}`))
    expect([...led].toSorted()).toEqual([apiFront, filesFront].map(({ port }) => `${host}:${port} 200`).toSorted())
    const wrong = { ...environment, NIGHTFERRY_EXCHANGE_PROXY_FILE: '', NIGHTFERRY_EXCHANGE_PROXY: proxy.url }
    const { stdout } = await nightferryProcess(folder.path, ['doctor', '--config', demoConfig, '--json'], wrong)
    const { findings } = JSON.parse(stdout)
    expect(findings.find(({ id }: { id: string }) => id === 'service_key')).toMatchObject({
      level: 'error',
      what: expect.stringContaining('write them into exchange.proxy'),
      todo: expect.stringContaining('exchange.proxy'),
    })
  } finally {
    await sandbox.close()
  }
})
