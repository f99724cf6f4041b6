import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { AnswerCache, pictureKeptMs } from '../../src/http/answer-cache.ts'
import { patience } from '../helpers/patience.ts'

const at = (ms: number) => new Date(ms)

/** Something to compute, which ends when it is told to. */
function slow<T>() {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  return { make: vi.fn(() => promise), end: resolve, fail: reject }
}

describe('an answer that is soon there', () => {
  it('an answer that is soon there is given with the moment it is of', async () => {
    const cache = new AnswerCache()
    expect(await cache.soon('a', at(1_000), async () => 7)).toEqual({
      answer: 7,
      asOf: at(1_000),
      computingSince: null,
    })
  })

  it('an answer that is soon there is not waited for: the request is told since when it is computed', async () => {
    const cache = new AnswerCache()
    const { make, end } = slow<number>()
    expect(await cache.soon('a', at(1_000), make)).toEqual({ answer: null, computingSince: at(1_000) })
    expect(await cache.soon('a', at(2_000), make)).toEqual({ answer: null, computingSince: at(1_000) })
    end(7)
    await vi.waitFor(async () => {
      expect(await cache.soon('a', at(3_000), make)).toEqual({ answer: 7, asOf: at(1_000), computingSince: null })
    }, patience)
    expect(make).toHaveBeenCalledTimes(1)
  })

  it('stays the one before, with its own moment, until the next is there', async () => {
    const cache = new AnswerCache()
    await cache.soon('a', at(0), async () => 'old')
    const { make, end } = slow<string>()
    const later = at(pictureKeptMs)
    expect(await cache.soon('a', later, make)).toMatchObject({ answer: 'old', asOf: at(0) })
    end('new')
    await vi.waitFor(async () => {
      expect(await cache.soon('a', later, make)).toMatchObject({ answer: 'new', asOf: later })
    }, patience)
  })

  it('an answer that is soon there is computed after the one before it, and does not keep other questions waiting', async () => {
    const cache = new AnswerCache()
    const first = slow<number>()
    const second = slow<number>()
    await cache.soon('a', at(0), first.make)
    await cache.soon('b', at(0), second.make)
    expect(second.make).not.toHaveBeenCalled()
    expect(await cache.often('c', at(0), async () => 3)).toMatchObject({ answer: 3 })
    first.end(1)
    await vi.waitFor(() => expect(second.make).toHaveBeenCalledTimes(1), patience)
    second.end(2)
  })

  it('an answer that is soon there that fails is told to the request, not kept, and does not stop the next', async () => {
    const cache = new AnswerCache()
    const failing = async () => {
      throw new Error('the database is away')
    }
    await expect(cache.soon('a', at(0), failing)).rejects.toThrow('away')
    expect(await cache.soon('a', at(1), async () => 7)).toMatchObject({ answer: 7, asOf: at(1) })
  })
})

describe('an answer that is computed for long', () => {
  it('an answer that is computed for long and fails is told to the next request, once, and then computed again', async () => {
    const cache = new AnswerCache()
    const failing = slow<number>()
    expect(await cache.soon('a', at(1_000), failing.make)).toEqual({ answer: null, computingSince: at(1_000) })
    failing.fail(new Error('it took too long'))
    // Nobody waits for it at that moment.
    await setImmediate()
    await expect(cache.soon('a', at(2_000), failing.make)).rejects.toThrow('it took too long')
    expect(failing.make).toHaveBeenCalledTimes(1)
    expect(await cache.soon('a', at(3_000), async () => 7)).toMatchObject({ answer: 7, asOf: at(3_000) })
  })

  it('an answer that is computed for long and fails without anyone asking again is not told a day later', async () => {
    const cache = new AnswerCache()
    const failing = slow<number>()
    await cache.soon('a', at(0), failing.make)
    failing.fail(new Error('it took too long'))
    await setImmediate()
    expect(await cache.soon('a', at(86_400_000), async () => 7)).toMatchObject({ answer: 7 })
  })
})

describe('an answer that is kept', () => {
  it('an answer that is kept is computed again where the clock was set back by a day', async () => {
    const cache = new AnswerCache()
    await cache.soon('a', at(86_400_000), async () => 'old')
    await cache.often('b', at(86_400_000), () => new Promise((resolve) => setTimeout(resolve, 20, 'old')))
    expect(await cache.soon('a', at(0), async () => 'new')).toMatchObject({ answer: 'new', asOf: at(0) })
    expect(await cache.often('b', at(0), async () => 'new')).toMatchObject({ answer: 'new', asOf: at(0) })
  })
})

describe('an answer that every page needs', () => {
  it('an answer that every page needs is waited for when it is the first', async () => {
    const cache = new AnswerCache()
    const { make, end } = slow<number>()
    const asked = cache.often('a', at(0), make)
    setTimeout(end, 300, 7)
    expect(await asked).toMatchObject({ answer: 7, asOf: at(0) })
  })

  it('an answer that every page needs that took long is given again for a while, and computed again in the background afterwards', async () => {
    const cache = new AnswerCache()
    await cache.often('a', at(0), () => new Promise((resolve) => setTimeout(resolve, 100, 'old')))
    const { make, end } = slow<string>()
    expect(await cache.often('a', at(500), make)).toMatchObject({ answer: 'old', asOf: at(0) })
    expect(make).not.toHaveBeenCalled()
    const later = at(30_000)
    expect(await cache.often('a', later, make)).toMatchObject({ answer: 'old', asOf: at(0) })
    end('new')
    await vi.waitFor(async () => {
      expect(await cache.often('a', later, make)).toMatchObject({ answer: 'new', asOf: later })
    }, patience)
    expect(make).toHaveBeenCalledTimes(1)
  })

  it('an answer that every page needs and that waited for its turn is no dearer for that, and soon asked again', async () => {
    const cache = new AnswerCache()
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
    try {
      const turn = async (begin: () => void) => {
        clock.mockReturnValue(60_000)
        begin()
        clock.mockReturnValue(60_010)
        return 'old'
      }
      await cache.often('a', at(0), turn)
    } finally {
      clock.mockRestore()
    }
    const { make, end } = slow<string>()
    const asked = cache.often('a', at(500), make)
    end('new')
    expect(await asked).toMatchObject({ answer: 'new', asOf: at(500) })
  })

  it('an answer that every page needs and that has become old is waited for, and why there is none is told each time', async () => {
    const cache = new AnswerCache()
    await cache.often('a', at(0), () => new Promise((resolve) => setTimeout(resolve, 100, 'old')))
    const failing = async () => {
      throw new Error('it took too long')
    }
    await expect(cache.often('a', at(3_600_000), failing)).rejects.toThrow('it took too long')
    await expect(cache.often('a', at(3_600_001), failing)).rejects.toThrow('it took too long')
    const { make, end } = slow<string>()
    const asked = cache.often('a', at(3_600_002), make)
    setTimeout(end, 300, 'new')
    expect(await asked).toMatchObject({ answer: 'new', asOf: at(3_600_002) })
  })
})
