import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { some } from '../helpers/some.ts'

const source = readFileSync(new URL('../../src/heap.ts', import.meta.url), 'utf8')
const measuring = fileURLToPath(new URL('measure-heap.ts', import.meta.url))
const growing = fileURLToPath(new URL('measure-resident.ts', import.meta.url))

it('this Node.js knows every flag that bounds the heap', () => {
  const set = source.matchAll(/setFlagsFromString\(['`]--(?:no-)?([a-z-]+)/g)
  const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8', maxBuffer: 16_777_216 })
  for (const [, flag = ''] of some([...set])) expect(known).toMatch(new RegExp(`^ *--${flag} `, 'm'))
})

it('a process has room for rows whenever it begins to carry them, and frees the bytes that it hands on', () => {
  const told = execFileSync(process.execPath, [measuring], { encoding: 'utf8' })
  const held = JSON.parse(told) as Record<'begun' | 'room' | 'mostHeld' | 'idle' | 'again', number>
  expect(held.begun).toBeLessThan(4)
  expect(held.room).toBe(8)
  expect(held.idle).toBeLessThan(4)
  expect(held.again).toBe(8)
  expect(held.mostHeld).toBeLessThan(32)
})

it('a process that has grown beyond its bound gives back what it does not use, and has room for rows afterwards', () => {
  const told = execFileSync(process.execPath, [growing], { encoding: 'utf8' })
  const { bound, most, left, room } = JSON.parse(told) as Record<'bound' | 'most' | 'left' | 'room', number>
  expect(most).toBeGreaterThan(bound)
  expect(left).toBeLessThan(bound)
  expect(room).toBe(8)
})
