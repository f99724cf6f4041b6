import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, packagedContract, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

/** The contract with every name, status, task name and path spelt in another way. */
function renamed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]: [string, unknown]) => {
      if (typeof entry !== 'string' || entry === '' || key === 'method' || key === 'source')
        return [key, renamed(entry)]
      return [key, key === 'path' ? `/elsewhere${entry}` : `x-${entry}`]
    }),
  )
}

test('a night passes at a service that spells every name in another way, once the contract says so', async () => {
  await using folder = await workingFolder()
  const contractFile = join(folder.path, 'contract.yaml')
  await writeFile(contractFile, stringify(renamed(parse(readFileSync(packagedContract, 'utf8')))))
  await using world = await startWorld({ hotels: 3, contractFile })

  const wrong = await nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig], world.environment())
  expect(wrong.code, 'the names that come with Nightferry do not fit this service').toBe(1)
  const args = ['run', 'nightly-sync', '--json', '--config', demoConfig, '--set', `exchange.contract=${contractFile}`]
  const { code, stdout, stderr } = await nightferry(folder.path, args, world.environment())
  expect(code, stderr).toBe(0)
  const { streams, searches } = JSON.parse(stdout) as RunReport
  for (const { stream, sent, pending } of some(streams)) expect(sent, stream).toBe(pending)
  expect(searches).toMatchObject([{ companies: 4 }])
  expect(searches[0]?.values).toBeGreaterThan(100)
}, 120_000)
