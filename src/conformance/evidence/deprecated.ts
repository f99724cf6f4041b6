import type { Bench } from '../bench.ts'
import type { Answer } from '../wire.ts'
import { searches } from './searches.ts'

export type Deprecated = { latest: { companies: Answer; standards: Answer }; status: Answer; customIdentifiers: Answer }

/** The deprecated endpoints that only read, once searches of their kind have ended. */
export function deprecated(bench: Bench): Promise<Deprecated> {
  return bench.once('deprecated reads', async () => {
    const { companiesLatestFileV1, standardsLatestFileV1, statusV1, customIdentifiersV1 } =
      bench.contract.otherEndpoints
    const { runs } = await searches(bench)
    const companies = await bench.wire.call(companiesLatestFileV1)
    const standards = await bench.wire.call(standardsLatestFileV1)
    for (const answer of [companies, standards]) bench.note(answer.status === 200 ? 'latestFile' : 'error', answer.json)
    const status = await bench.wire.call(statusV1, { id: runs.calculators.correlationId ?? 'none' })
    bench.note(status.status === 200 ? 'task' : 'error', status.json)
    const customIdentifiers = await bench.wire.call(customIdentifiersV1)
    bench.note(customIdentifiers.status === 200 ? 'customProperties' : 'error', customIdentifiers.json)
    return { latest: { companies, standards }, status, customIdentifiers }
  })
}
