import { expect, it } from 'vitest'
import { type Answer, service } from '../pipeline/push/service.ts'
import { testClient } from './test-client.ts'

const path = '/api/v1/unit-types'
const dated =
  (date: string | null): Answer =>
  (response) => {
    response.sendDate = false
    if (date !== null) response.setHeader('date', date)
    response.writeHead(403).end()
  }

it("the service's time is what a refusal was dated, and goes on from there although our own clock is set", async () => {
  const date = 'Thu, 26 Nov 2026 12:00:00 GMT'
  await using server = await service({ [path]: [dated(null), dated(date)] })
  let ours = Date.parse('2028-01-01T00:00:00Z')
  await using client = testClient(server.url, { nowMs: () => ours })
  const ask = async () => {
    await client.getUnitTypes().catch(() => {})
    return client.serviceTime()?.getTime() ?? null
  }
  expect(await ask()).toBeNull()
  const told = await ask()
  expect(told).not.toBeNull()
  ours = 0
  const since = (client.serviceTime()?.getTime() ?? 0) - Date.parse(date)
  expect([since >= 0, since < 60_000]).toEqual([true, true])
})
