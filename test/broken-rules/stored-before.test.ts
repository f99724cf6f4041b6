import { expect, test } from 'vitest'
import { conform } from '../conformance/conform.ts'
import type { Hooks } from './broken-service.ts'
import { everything, freshly, openBroken } from './judge-broken.ts'

const whatIsStored = [
  'mapping/stored',
  'answers/framework',
  'answers/entry',
  'answers/periods',
  'answers/yearly',
  'answers/monthly',
  'answers/both',
  'answers/typed',
  'answers/omission',
  'calculator-upsert/field-type',
] as const

const isUpload = (method: string, path: string) => method === 'POST' && /\/(company-mappings|upsert)$/.test(path)

/** Notes what uploads are answered, or answers later ones with what was noted and passes none of them on. */
function replay(noted: Map<string, { status: number; json: unknown }[]>): { noting: Hooks; replaying: Hooks } {
  return {
    noting: {
      answer: ({ method, path, answer }) => {
        if (isUpload(method, path)) noted.set(path, [...(noted.get(path) ?? []), { ...answer }])
      },
    },
    replaying: {
      instead: ({ method, path }) => (isUpload(method, path) ? (noted.get(path)?.shift() ?? null) : null),
    },
  }
}

test('what an earlier run stored does not hold for a service that stores nothing any more', async () => {
  const service = await openBroken()
  try {
    const { noting, replaying } = replay(new Map())
    const options = { ...everything, writing: freshly(2014), only: [...whatIsStored] }
    service.break(noting)
    const first = await conform(service.url, options)
    expect(first.entries.map(({ id, verdict }) => [id, verdict])).toEqual(whatIsStored.map((id) => [id, 'holds']))
    const { changes } = service.break(replaying)
    const second = await conform(service.url, options)
    expect(second.entries.filter(({ verdict }) => verdict === 'holds')).toEqual([])
    expect(changes()).toBeGreaterThan(3)
  } finally {
    await service.close()
  }
})
