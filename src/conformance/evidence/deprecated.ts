import type { Bench } from '../bench.ts'
import type { Answer } from '../wire.ts'
import { ask } from './reference-evidence.ts'
import { searches } from './searches.ts'

export type Deprecated = { latest: { companies: Answer; standards: Answer }; status: Answer; customIdentifiers: Answer }

/** The deprecated endpoints that only read, once searches of their kind have ended. */
export function deprecated(bench: Bench): Promise<Deprecated> {
  return bench.once('deprecated reads', async () => {
    const { companiesLatestFileV1, standardsLatestFileV1, statusV1, customIdentifiersV1 } =
      bench.contract.otherEndpoints
    const { runs } = await searches(bench)
    const companies = await ask(bench, 'latestFile', companiesLatestFileV1)
    const standards = await ask(bench, 'latestFile', standardsLatestFileV1)
    const status = await ask(bench, 'task', statusV1, { id: runs.calculators.correlationId ?? 'none' })
    const customIdentifiers = await ask(bench, 'customProperties', customIdentifiersV1)
    return { latest: { companies, standards }, status, customIdentifiers }
  })
}
