import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { expect, it, vi } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { createPool } from '../../src/db/database.ts'
import { type Engine, startEngine } from '../../src/jobs/engine.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'

/** What the kernel calls the timer of a silent connection, and the ticks of a second by which it counts. */
const [keepAliveTimer, ticks] = ['02', 100]

const database = await ofThisFile(testDatabase({ template: 'empty' }))

/**
 * Connections of this process to the server, by their inode, with the seconds until the kernel asks whether it is
 * there.
 */
function connections(): Map<string, number | null> {
  const port = Number(new URL(database.url).port).toString(16).toUpperCase().padStart(4, '0')
  const own = new Set(
    readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? '']
      } catch {
        return []
      }
    }),
  )
  const lines = readFileSync('/proc/self/net/tcp', 'utf8').trim().split('\n').slice(1)
  return new Map(
    lines.flatMap((line) => {
      const [, , remote = '', , , timer = '', , , , inode = ''] = line.trim().split(/\s+/)
      if (!remote.endsWith(`:${port}`) || !own.has(inode)) return []
      const [kind, left = ''] = timer.split(':')
      return [[inode, kind === keepAliveTimer ? Number.parseInt(left, 16) / ticks : null]]
    }),
  )
}

/** Waits until each connection that `open` made is silent, with the kernel about to ask after it within 20 seconds. */
async function askedAfter(open: () => Promise<unknown>): Promise<void> {
  const before = new Set(connections().keys())
  await open()
  await vi.waitFor(() => {
    for (const [, seconds] of some([...connections()].filter(([inode]) => !before.has(inode)))) {
      if (seconds === null) throw new Error('the kernel never asks after it')
      expect(seconds).toBeLessThanOrEqual(20)
    }
  }, 20_000)
}

it('the kernel asks after a server that is silent, within 20 seconds, by connections of the tables', async () => {
  const pool = createPool(database.url, {
    max: 1,
    applicationName: 'nightferry tests',
    searchPath: 'public',
    onIdleError: () => {},
  })
  try {
    await askedAfter(() => pool.query('select 1'))
  } finally {
    await pool.end()
  }
}, 60_000)

it('the kernel asks after a server that is silent, within 20 seconds, by connections of the queue', async () => {
  let engine: Engine | undefined
  try {
    await askedAfter(async () => {
      engine = await startEngine(database.url, settings.parse({}), () => {})
    })
  } finally {
    await engine?.stop()
  }
}, 60_000)
