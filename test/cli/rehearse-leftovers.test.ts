import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { testDatabase } from '../helpers/postgres.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, start, workingFolder } from './nightferry-process.ts'

const patienceMs = 600_000

test(
  'a rehearsal that was killed leaves nothing that the next one does not remove, and one that kept its database is no hindrance',
  async () => {
    await using world = await startWorld({ migrated: true, hotels: 3, seed: 7 })
    await using folder = await workingFolder()
    await using empty = await testDatabase({ template: 'empty' })
    const environment = { ...world.environment(), REHEARSAL_DATABASE_URL: empty.url }
    const rehearse = (...args: string[]) =>
      nightferry(folder.path, ['rehearse', '--config', demoConfig, ...args], environment)
    const left = async () =>
      (await readdir(join(folder.path, '.nightferry')).catch(() => [])).filter((name) => name.startsWith('rehearsal-'))

    const killed = start(folder.path, ['rehearse', '--config', demoConfig], {
      ...environment,
      NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: '60000',
    })
    await vi.waitFor(async () => expect(await left()).not.toEqual([]), { timeout: 120_000, interval: 10 })
    killed.child.kill('SIGKILL')
    await killed.ended
    expect(await left()).not.toEqual([])

    const kept = await rehearse('--keep')
    expect(kept.code, kept.stderr).toBe(0)
    expect(kept.stdout).toContain('The next rehearsal drops them.')
    expect(await left()).toEqual([])
    const next = await rehearse()
    expect(next.code, next.stderr).toBe(0)
  },
  patienceMs,
)
