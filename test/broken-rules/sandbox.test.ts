import { expect, test } from 'vitest'
import type { ConformanceResult } from '../../src/conformance/run-conformance.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { leftBehind, notHolding, openService } from '../conformance/conform.ts'
import { canaries } from '../helpers/canaries.ts'

test('every statement and every name is right of the sandbox when all of it may be used, also one that runs fast', async () => {
  await using folder = await workingFolder()
  await using service = await openService({ allowInsecureWebhooks: true, calculators: true, timeWarp: 60 })
  const args = ['conformance', '--base-url', service.url, '--administration', '--poll', '20', '--json']
  const { code, stdout, stderr } = await nightferry(folder.path, args, { EXCHANGE_API_KEY: canaries.apiKey })
  const { entries, names, counts, nameCounts } = JSON.parse(stdout) as ConformanceResult
  expect(notHolding(entries)).toEqual([])
  expect(notHolding(names)).toEqual([])
  expect(counts.holds).toBe(entries.length)
  expect(nameCounts.holds).toBe(names.length)
  expect(code).toBe(0)
  expect(stderr).toMatch(/^Writes to a hotel of the sandbox and to no other/m)
  expect(await leftBehind(service.url)).toEqual({ webhooks: [], chaos: [], timeWarp: 60 })
}, 240_000)
