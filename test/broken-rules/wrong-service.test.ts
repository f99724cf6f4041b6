import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { conform, openService } from '../conformance/conform.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'

const service = await ofThisFile(openService({ companies: 20, calculators: true }))

type Answer = { status: number; body: string }

/** A service in front of the sandbox that changes some of its answers. */
async function lying(
  change: (request: IncomingMessage, answer: Answer) => Answer,
): Promise<{ url: string } & AsyncDisposable> {
  const relay = (request: IncomingMessage, response: ServerResponse) => {
    const { authorization, 'content-type': type } = request.headers
    const headers = { ...(authorization && { authorization }), ...(type && { 'content-type': type }) }
    const inner = httpRequest(
      `${service.url}${request.url}`,
      { method: request.method ?? 'GET', headers },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const changed = change(request, {
            status: answer.statusCode ?? 0,
            body: Buffer.concat(chunks).toString('utf8'),
          })
          response.writeHead(changed.status, { 'content-type': 'application/json' }).end(changed.body)
        })
      },
    )
    request.pipe(inner)
  }
  const server = createServer(relay)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function verdictsOf(url: string, ...ids: string[]) {
  const { entries } = await conform(url)
  return ids.map((id) => entries.find((entry) => entry.id === id)?.verdict)
}

test.each([
  ['unit types', '/unit-types', (_body: string, deep: string) => deep],
  [
    'description',
    '/openapi.json',
    (body: string, deep: string) => body.replaceAll('"requestBody":{', `"requestBody":{"x-deep":${deep},`),
  ],
])('%s nested without end leave the rest to be judged', async (_what, path, nest) => {
  await using wrong = await lying((request, answer) =>
    request.url?.endsWith(path) && answer.status === 200
      ? { ...answer, body: nest(answer.body, '['.repeat(20_000) + ']'.repeat(20_000)) }
      : answer,
  )
  expect(await verdictsOf(wrong.url, 'errors/fields', 'calculator/inputs')).toEqual(['holds', 'holds'])
})

describe('a service that is wrong', () => {
  test.each([
    [
      'answers 400 to an unknown key',
      'authentication/8',
      (_: IncomingMessage, answer: Answer) => (answer.status === 401 ? { ...answer, status: 400 } : answer),
    ],
    [
      'leaves the errorCode out',
      'errors/fields',
      (_: IncomingMessage, answer: Answer) => (answer.status >= 400 ? { ...answer, body: '{"message":"no"}' } : answer),
    ],
    [
      'lists no unit types',
      'endpoints/unit-types',
      (request: IncomingMessage, answer: Answer) =>
        request.url?.endsWith('unit-types') ? { ...answer, body: '{}' } : answer,
    ],
    [
      'has removed a deprecated endpoint',
      'versioning/deprecated/custom-identifiers',
      (request: IncomingMessage, answer: Answer) =>
        request.url?.endsWith('custom-identifiers')
          ? { status: 410, body: '{"errorCode":"gone","message":"gone"}' }
          : answer,
    ],
    [
      'names another request type',
      'page/request-type',
      (_: IncomingMessage, answer: Answer) => ({
        ...answer,
        body: answer.body.replaceAll('BulkGetCompanyCalculators', 'Search'),
      }),
    ],
    [
      'lets a task leave a terminal status',
      'states/success',
      (() => {
        const looks = new Map<string, number>()
        return (request: IncomingMessage, answer: Answer) => {
          const url = request.url ?? ''
          if (!answer.body.includes('"Success"') || !/tasks\/./.test(url)) return answer
          looks.set(url, (looks.get(url) ?? 0) + 1)
          return (looks.get(url) ?? 0) > 1 ? { ...answer, body: answer.body.replace('"Success"', '"Error"') } : answer
        }
      })(),
    ],
  ])('%s: %s differs', async (_what, id, change) => {
    await using wrong = await lying(change)
    expect(await verdictsOf(wrong.url, id)).toEqual(['differs'])
  })

  test('everything that could not be seen for lack of an answer differs, and the rest is judged', async () => {
    await using wrong = await lying((request, answer) =>
      request.url?.endsWith('/standards/search') ? { status: 500, body: 'oops' } : answer,
    )
    expect(
      await verdictsOf(
        wrong.url,
        'service/area-searches',
        'versioning/deprecated/standards-search',
        'calculator/inputs',
      ),
    ).toEqual(['differs', 'differs', 'holds'])
  })
})

test('a service that says the key back: no report repeats it', async () => {
  await using wrong = await lying((request, answer) => {
    const key = request.headers.authorization ?? 'none'
    if (answer.status >= 400) return { ...answer, body: JSON.stringify({ errorCode: `unknown_${key}`, message: key }) }
    const body = answer.body.replaceAll('BulkGetCompanyCalculators', `${'x'.repeat(74)}${key}`)
    return { ...answer, body: body.replaceAll('"createdAt":', `"${key}":1,"createdAt":`) }
  })
  const result = await conform(wrong.url, { siblingKey: 'sibling-key' })
  expect(result.entries.find(({ id }) => id === 'errors/open-codes')?.seen).toContain('unknown_')
  expect(JSON.stringify(result)).not.toMatch(/demo-k|sibling-k/)
})

describe('a page that is wrong', () => {
  test.each([
    ['html', 'page/companies'],
    ['companies-missing', 'page/companies'],
    ['company-null', 'page/companies'],
    ['trailing-garbage', 'page/documents'],
    ['company-twice', 'page/documents'],
    ['variable-not-listed', 'page/calculator-variables'],
    ['company-id-no-uuid', 'company/id'],
    ['company-name-number', 'company/name'],
    ['calculators-null', 'company/calculators'],
    ['calculator-under-two-companies', 'page/calculator'],
    ['calculator-id-no-uuid', 'calculator/id'],
    ['type-id-no-uuid', 'calculator/type-id'],
    ['month-short', 'calculator/period'],
    ['year-fraction', 'calculator/period'],
    ['value-number', 'calculator/inputs'],
    ['value-null', 'page/values'],
  ])('%s is told by %s', async (name, id) => {
    await setChaos({ [`malformed-page:${name}`]: 1 })
    try {
      expect(await verdictsOf(service.url, id)).toEqual(['differs'])
    } finally {
      await setChaos({})
    }
  })
})

async function setChaos(profiles: Record<string, number>): Promise<void> {
  const answer = await fetch(`${service.url}/sandbox/chaos`, {
    method: 'PUT',
    headers: { authorization: 'demo-key', 'content-type': 'application/json' },
    body: JSON.stringify({ profiles }),
  })
  if (answer.status !== 200) throw new Error(`chaos answered ${answer.status}: ${await answer.text()}`)
}
