import { beforeEach, describe, expect, it } from 'vitest'
import { HttpError } from '../../../src/exchange/errors.ts'
import type { CustomProperty, FrameworkIndex } from '../../../src/exchange/reference-data.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { fetchReferenceData } from '../../../src/pipeline/reference/fetch-reference-data.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { uuid } from '../pull/sample-page.ts'
import { openFerry } from '../push/ferry.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const [one = '', two = ''] = ['one', 'two'].map(uuid)

const refusal = (status: number, errorCode: string | null) =>
  new HttpError(
    { method: 'GET', url: 'https://service.example/frameworks' },
    {
      status,
      errorCode,
      serviceMessage: null,
      retryAfterMs: null,
    },
  )

/** A fetch from a service that lists two frameworks, and refuses those that are asked for alone. */
async function fetchWith(refused: Record<string, HttpError>): Promise<string[]> {
  await using deps = ferry.deps('http://127.0.0.1:1')
  const identifier = { id: deps.required.customIdentifierId, isIdentifier: true, type: null } as CustomProperty
  const exchange: Partial<Deps['exchange']> = {
    getUnitTypes: async () => [],
    getGroups: async () => [],
    getCustomProperties: async () => [{ ...identifier, name: 'Id', raw: {} } as CustomProperty],
    getFrameworks: async () => [one, two].map((id) => ({ id })) as never,
    getFramework: async (id) => {
      if (refused[id] !== undefined) throw refused[id]
      return { id, title: id, questionIds: [], dataPoints: [], titles: {}, raw: {} } as unknown as FrameworkIndex
    },
  }
  await fetchReferenceData({ ...deps, required: { ...deps.required, groupId: null }, exchange: exchange as never })
  const stored = await ferry.ledger.db
    .selectFrom('reference_data')
    .select('id')
    .where('kind', '=', 'framework')
    .execute()
  return stored.map(({ id }) => id)
}

describe('a framework that is listed', () => {
  it.each([
    ['does not know', refusal(404, 'framework_not_found')],
    ['does not let the key read', refusal(403, 'forbidden')],
  ])('counts as not listed where the service %s it any more, and the others are kept', async (_, error) => {
    expect(await fetchWith({ [two]: error })).toEqual([one])
  })

  it.each([
    ['somebody on the way does not find it', { [two]: refusal(404, null) }, 'exchange_not_found'],
    ['somebody on the way forbids it', { [two]: refusal(403, null) }, 'exchange_forbidden'],
    ['the service is in trouble', { [two]: refusal(503, null) }, 'exchange_failed'],
    ['the service refuses all of them', { [one]: refusal(403, 'x'), [two]: refusal(404, 'x') }, 'exchange_forbidden'],
  ])('stops the fetch where %s', async (_, refused, code) => {
    await expect(fetchWith(refused)).rejects.toMatchObject({ code })
  })
})
