import { expect, test } from 'vitest'
import { RunEnds } from '../../src/cli/open-ferry.ts'

const anHour = 3_600_000

test('anyone who follows a run is woken when a run of this process ends, however long they wanted to wait', async () => {
  const ends = new RunEnds()
  const { signal } = new AbortController()
  const following = [ends.wait(anHour, signal), ends.wait(anHour, signal)]
  ends.tell()
  await Promise.all(following)
})

test('a follower that comes after the end waits for its own time', async () => {
  const ends = new RunEnds()
  ends.tell()
  let waited = false
  const waiting = ends.wait(1, new AbortController().signal).then(() => {
    waited = true
  })
  expect(waited).toBe(false)
  await waiting
})

test('a follower that is interrupted is told why, also before it waits', async () => {
  const ends = new RunEnds()
  const interrupted = new AbortController()
  const waiting = ends.wait(anHour, interrupted.signal)
  interrupted.abort(new Error('interrupted'))
  await expect(waiting).rejects.toThrow('interrupted')
  await expect(ends.wait(anHour, interrupted.signal)).rejects.toThrow('interrupted')
})
