import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import {
  withPageLock,
  withRunLock,
  withSubmissionLock,
  withSubmissionLockWaiting,
} from '../../src/db/locks/advisory-lock.ts'
import { patience } from '../helpers/patience.ts'
import { testDatabase } from '../helpers/postgres.ts'

let pool: pg.Pool
let otherProcess: pg.Pool
beforeAll(async () => {
  const { url } = await testDatabase({ template: 'empty' })
  const options = { max: 3, applicationName: 'nightferry tests', searchPath: 'public', onIdleError: () => {} }
  pool = createPool(url, options)
  otherProcess = createPool(url, options)
})
afterAll(async () => {
  await pool.end()
  await otherProcess.end()
})

/** Work that holds its lock until it is told to end. */
function heldWork() {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const work = async () => {
    begun.resolve()
    await end.promise
  }
  return { work, begun: begun.promise, end: end.resolve }
}

const locks = async (granted: boolean) =>
  (
    await pool.query(
      `select pid from pg_locks join pg_database d on d.oid = database
       where locktype = 'advisory' and granted = $1 and datname = current_database()`,
      [granted],
    )
  ).rows as { pid: number }[]

describe("a submission's lock", () => {
  it('passes a second look over while the first is at work, and lets the next one in', async () => {
    const first = heldWork()
    const second = vi.fn(async () => {})
    const held = withSubmissionLock(pool, 1, first.work)
    await first.begun
    await withSubmissionLock(otherProcess, 1, second)
    await withSubmissionLock(pool, 1, second)
    expect(second).not.toHaveBeenCalled()
    first.end()
    await held
    await withSubmissionLock(otherProcess, 1, second)
    expect(second).toHaveBeenCalledOnce()
  })

  it('makes a person wait for the look at work, and passes over looks that come meanwhile', async () => {
    const first = heldWork()
    const second = heldWork()
    const late = vi.fn(async () => {})
    const held = withSubmissionLock(pool, 1, first.work)
    await first.begun
    const waiting = withSubmissionLockWaiting(otherProcess, 1, 60_000, second.work)
    await vi.waitFor(async () => expect(await locks(false)).toHaveLength(1), patience)
    first.end()
    await second.begun
    expect(await withSubmissionLock(pool, 1, late)).toBe(false)
    second.end()
    expect(await waiting).toBe(true)
    await held
    expect(late).not.toHaveBeenCalled()
    expect(await locks(true)).toEqual([])
  })

  it("a submission's lock is not waited for longer than said, and leaves the connection as it was", async () => {
    const first = heldWork()
    const second = vi.fn(async () => {})
    const held = withSubmissionLock(pool, 1, first.work)
    await first.begun
    expect(await withSubmissionLockWaiting(otherProcess, 1, 50, second)).toBe(false)
    expect(second).not.toHaveBeenCalled()
    const { rows } = await otherProcess.query('show lock_timeout')
    expect(rows).toEqual([{ lock_timeout: '0' }])
    first.end()
    await held
  })

  it('keeps nobody from another submission, page or run', async () => {
    const first = heldWork()
    const held = withSubmissionLock(pool, 1, first.work)
    await first.begun
    const others = vi.fn(async () => {})
    await withSubmissionLock(otherProcess, 2, others)
    await withPageLock(otherProcess, 1, others)
    await withRunLock(otherProcess, 1, others)
    expect(others).toHaveBeenCalledTimes(3)
    first.end()
    await held
  })

  it("a submission's lock is free again when its holder fails", async () => {
    const failing = withSubmissionLock(pool, 1, () => Promise.reject(new Error('it broke')))
    await expect(failing).rejects.toThrow('it broke')
    const next = vi.fn(async () => {})
    await withSubmissionLock(otherProcess, 1, next)
    expect(next).toHaveBeenCalledOnce()
    expect(await locks(true)).toEqual([])
  })

  it("ends with its holder's connection, however that dies", async () => {
    const first = heldWork()
    const held = withSubmissionLock(pool, 1, first.work)
    const outcome = expect(held).rejects.toThrow()
    await first.begun
    const [holder] = await locks(true)
    await otherProcess.query('select pg_terminate_backend($1, 5000)', [holder?.pid])
    const next = vi.fn(async () => {})
    await withSubmissionLock(otherProcess, 1, next)
    expect(next).toHaveBeenCalledOnce()
    first.end()
    await outcome
    await withSubmissionLock(pool, 1, next)
    expect(next).toHaveBeenCalledTimes(2)
  })
})

describe("a run's lock", () => {
  it('makes a second look wait until the first is done', async () => {
    const order: string[] = []
    const first = heldWork()
    const held = withRunLock(pool, 1, first.work).then(() => order.push('first'))
    await first.begun
    const waiting = withRunLock(otherProcess, 1, async () => void order.push('second'))
    await vi.waitFor(async () => expect(await locks(false)).toHaveLength(1), { timeout: 60_000 })
    expect(order).toEqual([])
    first.end()
    await Promise.all([held, waiting])
    expect(order.toSorted()).toEqual(['first', 'second'])
    expect(await locks(true)).toEqual([])
  })

  it('goes to the one that waits when its holder is killed', async () => {
    const first = heldWork()
    const held = withRunLock(pool, 1, first.work)
    const outcome = expect(held).rejects.toThrow()
    await first.begun
    const [holder] = await locks(true)
    const second = vi.fn(async () => {})
    const waiting = withRunLock(otherProcess, 1, second)
    await vi.waitFor(async () => expect(await locks(false)).toHaveLength(1), { timeout: 60_000 })
    expect(second).not.toHaveBeenCalled()
    await otherProcess.query('select pg_terminate_backend($1, 5000)', [holder?.pid])
    await waiting
    expect(second).toHaveBeenCalledOnce()
    first.end()
    await outcome
  })
})
