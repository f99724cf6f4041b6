import { describe, expect, test } from 'vitest'
import type { Contract } from '../../src/exchange/contract.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { conform, contract, openNames, openService } from './conform.ts'

const service = await ofThisFile(openService({ companies: 20 }))

/** The contract and its names with some of them spelt in another way than the service spells them. */
function respelt(spelling: Record<string, string>): { contract: Contract; openNames: typeof openNames } {
  const changed = structuredClone(contract)
  for (const [key, name] of Object.entries(spelling)) {
    const steps = key.split('.')
    const last = steps.pop() ?? ''
    const holder = steps.reduce<Record<string, unknown>>(
      (found, step) => found[step] as Record<string, unknown>,
      changed as unknown as Record<string, unknown>,
    )
    holder[last] = name
  }
  return {
    contract: changed,
    openNames: openNames.map((one) => ({ ...one, written: spelling[one.key] ?? one.written })),
  }
}

describe('with a contract whose names are not those of the service', () => {
  test('says what stands in the place of each name', async () => {
    const names = { 'names.task.createdAt': 'submittedAt', 'names.companiesPage.street': 'streetAddress' }
    const result = await conform(service.url, respelt(names))
    const seen = Object.fromEntries(result.names.map((name) => [name.key, name]))
    expect(seen['names.task.createdAt']).toMatchObject({ verdict: 'differs', written: 'submittedAt' })
    expect(seen['names.task.createdAt']?.seen).toMatch(
      /^absent from all \d+ that came by; names there that the contract does not have: createdAt$/,
    )
    expect(seen['names.companiesPage.street']?.seen).toBe('absent; in its place, as it seems: street')
    expect(seen['names.task.status']).toMatchObject({ verdict: 'holds' })
    expect(result.nameCounts.differs).toBe(2)
  })

  test('a name that everything hangs on shows in the statements too', async () => {
    const result = await conform(service.url, respelt({ 'names.task.pageUrls': 'pages' }))
    expect(result.names.find(({ key }) => key === 'names.task.pageUrls')?.seen).toBe(
      'absent; in its place, as it seems: pageUrls',
    )
    const search = result.entries.find(({ id }) => id === 'service/result-search')
    expect(search).toMatchObject({ verdict: 'differs', seen: expect.stringContaining('page addresses: 0') as string })
  })

  test('a request field that the description does not have is told with those that it has', async () => {
    const result = await conform(service.url, respelt({ 'names.calculators.groupId': 'groupUuid' }))
    const { verdict, seen } = result.names.find(({ key }) => key === 'names.calculators.groupId') ?? {}
    expect(verdict).toBe('differs')
    expect(seen).toMatch(/^not in the description, which has .*groupId/)
  })

  test('an endpoint that is elsewhere is told by its answer', async () => {
    const moved = structuredClone(contract)
    moved.endpoints.cancelTask.method = 'DELETE'
    const names = openNames.map((name) =>
      name.key === 'endpoints.cancelTask' ? { ...name, written: name.written.replace('POST', 'DELETE') } : name,
    )
    const result = await conform(service.url, { contract: moved, openNames: names })
    expect(result.names.find(({ key }) => key === 'endpoints.cancelTask')).toMatchObject({
      verdict: 'differs',
      seen: 'answered 404',
    })
    expect(result.entries.find(({ id }) => id === 'endpoints/open-cancel')?.verdict).toBe('differs')
  })
})
