import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { forecastNight, groundOf } from '../../src/rehearsal/result/rehearsed-night.ts'
import { some } from '../helpers/some.ts'

const past = (kind: string, base: number, perRow: number) =>
  [10, 20, 40, 80, 100, 150, 200, 400].map((rows) => ({ kind, rows, seconds: base + perRow * rows }))

describe('the forecast of a night', () => {
  it('grows with the rows as earlier tasks did', () => {
    const forecast = forecastNight([[{ kind: 'answers', rows: 1000 }]], past('answers', 5, 0.1))
    expect(forecast.sideBySide).toBeCloseTo(105)
    expect(forecast).toMatchObject({ tasks: 8, unknownKinds: [] })
  })

  it('waits for the slowest request of each wave, or for all of them', () => {
    const wave = [
      { kind: 'answers', rows: 0 },
      { kind: 'mappings', rows: 0 },
    ]
    const known = [...past('answers', 5, 0.1), ...past('mappings', 20, 0.1)]
    const forecast = forecastNight([wave, wave], known)
    expect(forecast.sideBySide).toBeCloseTo(40)
    expect(forecast.oneByOne).toBeCloseTo(50)
  })

  it('takes the median where a few tasks say nothing of their rows, or more rows took less', () => {
    const seconds = (tasks: { kind: string; rows: number; seconds: number }[]) =>
      forecastNight([[{ kind: 'answers', rows: 1 }]], tasks).sideBySide
    expect(seconds([1, 2, 30].map((s) => ({ kind: 'answers', rows: s, seconds: s })))).toBe(2)
    expect(seconds(past('answers', 100, -0.1))).toBe(92)
  })

  it('names kinds of which no task is known, and counts nothing for them', () => {
    const forecast = forecastNight([[{ kind: 'holders', rows: 5 }]], past('answers', 5, 0))
    expect(forecast).toEqual({ sideBySide: 0, oneByOne: 0, unknownKinds: ['holders'], tasks: 0 })
  })
})

describe('the ground of a refusal', () => {
  it('the ground of a refusal is stated for an id that names nothing and a value outside a list, and assumed for a limit', () => {
    expect(groundOf('company_not_found').ground).toBe('stated')
    expect(groundOf('option_not_found').ground).toBe('stated')
    expect(groundOf('value_out_of_range').ground).toBe('assumed')
  })

  it('the ground of a refusal is known for every reason that the sandbox gives', () => {
    const folder = fileURLToPath(new URL('../../src/sandbox/processing', import.meta.url))
    const texts = readdirSync(folder)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
    const reasons = texts.flatMap((text) =>
      [...text.matchAll(/(?:reason: |wrong\(|failed\()'([a-z_]+)'/g)].flatMap(([, reason]) => reason ?? []),
    )
    const unjudged = groundOf('never_heard_of').why
    expect(some([...new Set(reasons)]).filter((reason) => groundOf(reason).why === unjudged)).toEqual([])
  })

  it('the ground of a refusal is assumed where nobody has judged the code', () => {
    expect(groundOf('never_heard_of')).toMatchObject({ ground: 'assumed' })
    expect(groundOf(null).ground).toBe('assumed')
  })
})
