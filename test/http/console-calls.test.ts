import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { consoleCalls } from '../../bench/console-calls.ts'
import { allRoutes } from '../../src/http/routes/all-routes.ts'

const sources = fileURLToPath(new URL('../../console/src', import.meta.url))

const withoutNames = (path: string) => path.replaceAll(/\$?\{[^}]*\}/g, '{}').replace('/nightly-sync/', '/{}/')

/** Every address of the API that stands in a source of the console, as `/v1/runs/{}`. */
function addressesIn(text: string): string[] {
  return [...text.matchAll(/['`](\/v1\/[^'`?]*)/g)].map(([, path = '']) => withoutNames(path))
}

const texts = readdirSync(sources, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => readFileSync(join(sources, name), 'utf8'))

it('the benchmark of the console knows every call that a page makes, and no other', () => {
  const called = new Set(texts.flatMap(addressesIn))
  expect(called.size).toBeGreaterThan(20)
  expect([...called].sort()).toEqual(consoleCalls.map(({ path }) => withoutNames(path)).sort())
})

it('the benchmark of the console names routes of the description alone', () => {
  const described = new Set(allRoutes(() => ({})).map(({ method, path }) => `${method} ${path}`))
  expect(consoleCalls.filter(({ method, path }) => !described.has(`${method} ${path}`))).toEqual([])
})

it('a call that nobody measures is found in a source', () => {
  expect(addressesIn("await post<PlanData>('/v1/forgotten', {})")).toEqual(['/v1/forgotten'])
  expect(addressesIn(`() => get<Trace>(\`/v1/hotels/\${encodeURIComponent(id)}\`)`)).toEqual(['/v1/hotels/{}'])
})
