import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { some } from '../helpers/some.ts'

const source = readFileSync(new URL('../../src/cli/whole-process.ts', import.meta.url), 'utf8')

it('this Node.js knows every flag that bounds the heap', () => {
  const set = source.matchAll(/setFlagsFromString\(['`](--[a-z-]+)/g)
  const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8', maxBuffer: 16_777_216 })
  for (const [, flag = ''] of some([...set])) expect(known).toMatch(new RegExp(`^ *${flag} `, 'm'))
})
