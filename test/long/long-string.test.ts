import { afterAll, expect, it } from 'vitest'
import { fill, pageUrls, search } from '../sandbox/chaos-pages-world.ts'
import { readLog, struckLines, switchTo } from '../sandbox/chaos-world.ts'
import { openSandbox } from '../sandbox/open-sandbox.ts'

const sandbox = await openSandbox({ companies: 4 })
afterAll(() => sandbox.close())
await fill(sandbox)
const [url = ''] = await pageUrls(sandbox, await search(sandbox))

it('malformed-page:long-string sends a string of 200 MiB, streamed', async () => {
  const before = (await readLog(sandbox)).at(-1)?.id ?? 0
  await switchTo(sandbox, { 'malformed-page:long-string': 1 })
  const response = await fetch(url)
  let filling = 0
  let rest = ''
  for await (const piece of response.body ?? []) {
    const bytes = Buffer.from(piece)
    const isFilling = bytes.every((byte) => byte === 0x78)
    if (isFilling) filling += bytes.length
    else rest += bytes.toString('utf8')
  }
  const others = rest.match(/x{10,}/g)?.join('').length ?? 0
  expect(filling + others).toBe(200 * 1024 * 1024)
  expect(JSON.parse(rest)).toMatchObject({ companies: expect.any(Array) })
  expect((await struckLines(sandbox, before)).at(-1)?.chaos).toEqual(['malformed-page:long-string'])
})
