import type { Config } from '../../config/schema.ts'
import type { ExchangeClient } from '../../exchange/client.ts'
import type { BulkRequest, Contract } from '../../exchange/contract.ts'

/** The bulk requests that change nothing at the service. */
const mirrorSearches = [
  'companiesSearch',
  'standardsSearch',
  'standardHoldersSearch',
  'frameworkAnswersSearch',
  'calculatorsSearch',
] as const satisfies readonly BulkRequest[]
export type MirrorSearch = (typeof mirrorSearches)[number]

/** What a mirror may call of a service: what is read with GET, and searches. Nothing else can be spelt. */
type ReadableService = Pick<
  ExchangeClient,
  'getUnitTypes' | 'getFrameworks' | 'getFramework' | 'getGroups' | 'getCustomProperties' | 'getTask'
> & {
  search(search: MirrorSearch, body: object): Promise<{ correlationId: string }>
}

/**
 * A client of which nothing is left that could change anything.
 * @throws {TypeError} for a request that is no search.
 */
export function readableService(client: ExchangeClient): ReadableService {
  return {
    getUnitTypes: (...given) => client.getUnitTypes(...given),
    getFrameworks: (...given) => client.getFrameworks(...given),
    getFramework: (...given) => client.getFramework(...given),
    getGroups: (...given) => client.getGroups(...given),
    getCustomProperties: (...given) => client.getCustomProperties(...given),
    getTask: (...given) => client.getTask(...given),
    search: async (search, body) => {
      if (!mirrorSearches.includes(search)) throw new TypeError(`${search} is no search`)
      return await client.submit(search, JSON.stringify(body))
    },
  }
}

/** What a mirror works with. */
export type MirrorDeps = {
  service: ReadableService
  contract: Contract
  config: Pick<Config, 'exchange' | 'pull'>
  /** The address of the deployment and its key: for result files, which need neither where they are signed. */
  baseUrl: string
  apiKey: string
  /** Ends everything; nothing is left behind. */
  signal: AbortSignal
  now: () => Date
  wait: (ms: number) => Promise<unknown>
  /** Told, in a sentence for a person, how far the mirror has got. */
  tell: (sentence: string) => void
}

/** The deployment did not let itself be mirrored. `code` is stable. */
export class MirrorFailed extends Error {
  readonly code = 'mirror_failed'
}
