import { expect, it } from 'vitest'
import { trendOf } from '../../../bench/slope.ts'
import { nextDraw } from '../../reliability/draws.ts'

const draw = nextDraw(7)
const nights = Array.from({ length: 300 }, (_, night) => night)

it('what goes up and down by chance is flat', () => {
  expect(Math.abs(trendOf(nights.map(() => 100 + 40 * draw())).perHundred)).toBeLessThan(0.05)
})

it('what grows by a thousandth a night grows by a tenth in a hundred nights, whatever single nights do', () => {
  const values = nights.map((night) => (night % 50 === 7 ? 5_000 : 100 + 0.1 * night + 2 * draw()))
  const { perNight, perHundred } = trendOf(values)
  expect(perNight).toBeCloseTo(0.1, 2)
  expect(perHundred).toBeGreaterThan(0.08)
})

it('what is always the same is flat, and one night has no trend', () => {
  expect(trendOf([0, 0, 0])).toMatchObject({ level: 0, perNight: 0, perHundred: 0 })
  expect(() => trendOf([1])).toThrow('two nights')
})
