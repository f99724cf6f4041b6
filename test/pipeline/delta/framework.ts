import { streamNames } from '../../../src/config/known-names.ts'
import { preflight } from '../../../src/pipeline/preflight/preflight.ts'
import { keepReferenceData } from '../../../src/pipeline/reference/fetch-reference-data.ts'
import { storableDocuments } from '../../../src/pipeline/reference/store-reference-data.ts'
import type { Ferry } from '../push/ferry.ts'
import { dataPoint, ids } from '../push/rows.ts'

/** Nothing is called there. */
const nowhere = 'http://127.0.0.1:9'

/** Two frameworks with one question, whose data point is a number. */
export async function knowFrameworks(ferry: Ferry): Promise<void> {
  await using deps = ferry.deps(nowhere)
  const framework = {
    id: ids.framework,
    title: 'Responsible Hotel',
    questionIds: [ids.question],
    dataPoints: [dataPoint(ids.number)],
    titles: {},
    raw: null,
  }
  const other = { ...framework, id: ids.otherFramework, title: 'Living Coast' }
  const documents = storableDocuments({ unit_type: [], group: [], custom_property: [], framework: [framework, other] })
  await ferry.ledger.inTransaction((trx) => keepReferenceData(deps, trx, documents, null))
}

/** The step of a run that judges its rows, of a configuration with every stream. */
export async function preflightOf(ferry: Ferry, runId: number): Promise<void> {
  await using given = ferry.deps(nowhere)
  const streams = Object.fromEntries(streamNames.map((name) => [name, given.config.streams.properties]))
  const deps = { ...given, config: { ...given.config, streams } }
  const run = await deps.db.selectFrom('run').selectAll().where('run_id', '=', runId).executeTakeFirstOrThrow()
  await preflight(deps, run)
}
