import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readResultFile } from '../../../../src/pipeline/push/outcomes/stage-result-file.ts'

const limits = { maxDepth: 64, maxElementSize: 64 * 1024 }

async function elements(parts: Iterable<string>): Promise<unknown[]> {
  const body = Readable.from(
    (function* () {
      for (const part of parts) yield Buffer.from(part)
    })(),
    { objectMode: false },
  )
  const found: unknown[] = []
  for await (const element of readResultFile(body, 'companies', limits)) found.push(element)
  return found
}

test('readResultFile yields the elements of the named list, whatever stands beside it', async () => {
  expect(await elements(['{"other":[1,{}],"compan', 'ies":[{"id":"H-1"},{"id":"H-2"}],"count":2}'])).toEqual([
    { id: 'H-1' },
    { id: 'H-2' },
  ])
  expect(await elements(['{"other":[]}'])).toEqual([])
})

test.each([
  ['one string', ['{"companies":[{"id":"', ...Array.from({ length: 1_000 }, () => 'a'.repeat(1_000))]],
  ['one list', ['{"companies":[{"x":[', ...Array.from({ length: 1_000 }, () => '[],'.repeat(1_000))]],
  ['nesting', ['{"companies":[', ...Array.from({ length: 1_000 }, () => '['.repeat(1_000))]],
])(
  'readResultFile refuses a company that is larger than the limit, by %s, although the rest never comes',
  async (_, parts) => {
    await expect(elements(parts)).rejects.toThrow(/larger than the limit|nested deeper/)
  },
)
