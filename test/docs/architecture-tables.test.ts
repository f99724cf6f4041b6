import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readPage, section } from './pages.ts'

const schema = readFileSync(new URL('../db/schema.txt', import.meta.url), 'utf8')
const tables = [...schema.matchAll(/^table (\w+)$/gm)].map(([, name = '']) => name)

test('docs/architecture.md says of every table what it holds', () => {
  expect(tables.length).toBeGreaterThan(60)
  const told = section(readPage('docs/architecture.md'), 'Tables')
  expect(tables.filter((table) => !told.includes(`\`${table}\``))).toEqual([])
})
