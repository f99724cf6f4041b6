import { describe, expect, it } from 'vitest'
import { createChaos } from '../../src/sandbox/chaos/chaos.ts'
import { webhookProfiles } from '../../src/sandbox/chaos/profiles.ts'
import { deliveryChaos, deliveryFate } from '../../src/sandbox/webhooks/delivery-chaos.ts'
import { afterAttempt } from '../../src/sandbox/webhooks/retry-ladder.ts'

const always = (...profiles: string[]) => new Map(profiles.map((profile) => [profile, 1]))

describe('profiles that strike one delivery', () => {
  it('lost goes before late, late before early, early before reordered, and doubled with all but lost', () => {
    const { lost, late, doubled, reordered, early } = deliveryChaos
    const struck = (...profiles: string[]) => deliveryFate(createChaos(1, always(...profiles))).struck
    expect(struck(lost, late, doubled, reordered, early)).toEqual([lost])
    expect(struck(late, doubled, reordered, early)).toEqual([late, doubled])
    expect(struck(doubled, reordered, early)).toEqual([doubled, early])
    expect(struck(doubled, reordered)).toEqual([doubled, reordered])
    expect(struck()).toBeNull()
  })

  it('strikes the same deliveries under the same seed, and others under another', () => {
    const half = new Map(Object.values(deliveryChaos).map((profile) => [profile, 0.5]))
    const run = (seed: number) => {
      const chaos = createChaos(seed, half)
      return Array.from({ length: 50 }, () => deliveryFate(chaos).struck)
    }
    expect(run(1)).toEqual(run(1))
    expect(run(1)).not.toEqual(run(2))
  })

  it('profiles that strike one delivery are those that are listed', () => {
    expect(Object.values(deliveryChaos).toSorted()).toEqual(webhookProfiles.map(({ name }) => name).toSorted())
  })
})

describe('what becomes of a delivery', () => {
  const minutes = (count: number) => count * 60_000

  it.each([
    [1, minutes(1)],
    [2, minutes(5)],
    [3, minutes(30)],
    [4, minutes(120)],
    [5, minutes(360)],
  ])('a delivery is due again after failure %d, in %d ms', (attempted, wait) => {
    expect(afterAttempt({ succeeded: false, attempted, isTest: false, now: 1000 })).toEqual({
      status: 'queued',
      nextAttemptAt: 1000 + wait,
    })
  })

  it('a delivery has no further attempt after the sixth failure', () => {
    expect(afterAttempt({ succeeded: false, attempted: 6, isTest: false, now: 1000 })).toEqual({
      status: 'failed',
      nextAttemptAt: null,
    })
  })

  it('takes about eight and a half hours from the first attempt to the last', () => {
    let now = 0
    for (let attempted = 1; attempted <= 5; attempted += 1) {
      now = afterAttempt({ succeeded: false, attempted, isTest: false, now }).nextAttemptAt ?? Number.NaN
    }
    expect(now / minutes(60)).toBeCloseTo(8.6, 1)
  })
})
