import { requirementsOf } from '../../config/requirements.ts'
import { batchSizes } from '../../db/ledger/batch-size.ts'
import { keyRefusedWords } from '../../db/ledger/parked-reason.ts'
import { newestRuns, statusCounts } from '../../db/runs/listed-rows.ts'
import { pageProgress } from '../../db/runs/page-progress.ts'
import { refusedKeyInUse } from '../../db/service-key/key-in-use.ts'
import { skewInUse } from '../../db/service-key/stored-skew.ts'
import { skewWords, surelyOffMs, tolerableSkewMs } from '../../pipeline/gate/service-clock.ts'
import { type SearchStanding, searchStandings } from '../../pipeline/pull/documents/document-reports.ts'
import { countUnrenewed } from '../../pipeline/pull/removals/take-removals.ts'
import { missingProperties } from '../../pipeline/pull/search/requested-properties.ts'
import { missingPropertyLines } from '../../pipeline/report/search-words.ts'
import { unrenewedLines } from '../../pipeline/report/unrenewed-words.ts'
import { documentKindNames, searchKind } from '../../pipeline/streams/kind-names.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { moment, readable } from '../show/readable.ts'
import { renderPages } from '../show/render-pages.ts'
import { sizeWords } from '../show/size-words.ts'
import { table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'

/** `nightferry status`: the last run and the ledger at a glance. */
export async function status(cli: Cli, options: CommonOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }, config) => {
    const [last = null] = await newestRuns(db, 1)
    const streams = await statusCounts(db, requirementsOf(config))
    const sizes = await batchSizes(db)
    const names = config.pull.searches.map(({ name }) => name)
    const searches = await searchStandings(db, names, documentKindNames)
    const key = await refusedKeyInUse(db)
    const skew = await skewInUse(db)
    const pages = last === null ? null : await pageProgress(db, last.run_id, searchKind)
    const missing = await missingProperties(db, config.pull.customPropertyIds)
    const unrenewed = await countUnrenewed(db)
    if (options.json) {
      const { report: _, ...run } = last ?? { report: null }
      const refused = key === null ? null : { since: key.since, code: key.errorCode, reason: key.serviceMessage }
      const standing = {
        last_run: last === null ? null : run,
        key_refused: refused,
        service_clock:
          skew === null ? null : { low_ms: skew.lowMs, high_ms: skew.highMs, measured_at: skew.measuredAt },
        custom_properties: missing,
        pages,
        not_renewed: unrenewed,
        streams,
        searches,
        request_sizes: sizes,
      }
      printJson(cli.stdout, standing)
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      last === null
        ? 'There was no run yet. nightferry run nightly-sync starts one.'
        : `Last run: ${last.run_id}, started ${moment(last.started_at)} UTC, ${last.state === 'running' ? `under way at the step ${last.step}` : `${last.state}, ${last.verdict}`}`,
    )
    if (last?.failure) printLine(cli.stdout, readable(`  ${last.failure.code}: ${last.failure.message}`))
    if (pages !== null) printLine(cli.stdout, renderPages(pages))
    if (key !== null) {
      const words = keyRefusedWords(key.since, [key.errorCode, key.serviceMessage])
      printLine(cli.stdout, readable(`Nothing is sent: ${words}. What is pending is parked until then.`))
    }
    if (skew !== null && surelyOffMs(skew) > 0) {
      const far = surelyOffMs(skew) > tolerableSkewMs ? '. Somebody should set it right' : ''
      printLine(cli.stdout, `Clocks: ${skewWords(skew)}, measured ${moment(skew.measuredAt)} UTC${far}.`)
    }
    for (const line of missingPropertyLines(missing.left_out, missing.left_out_in_run, missing.doubtful)) {
      printLine(cli.stdout, readable(line))
    }
    for (const line of unrenewedLines(unrenewed)) printLine(cli.stdout, readable(line))
    for (const part of [streamsTable(streams), searchesTable(searches), sizesTable(sizes)]) {
      if (part === '') continue
      printLine(cli.stdout)
      printLine(cli.stdout, part)
    }
    return exitCodes.well
  })
}

function streamsTable(streams: Awaited<ReturnType<typeof statusCounts>>): string {
  if (streams.length === 0) return ''
  return table(
    [
      'stream',
      'rows',
      'accepted',
      'pending',
      'of these invalid',
      'parked',
      'rejected',
      'unknown',
      'in flight',
      'held',
      'gone',
      'oldest pending (UTC)',
    ],
    streams.map((s) => [
      s.stream,
      s.rows,
      s.accepted,
      s.pending,
      s.invalid,
      s.parked,
      s.rejected,
      s.unknown,
      s.in_flight,
      s.held,
      s.gone,
      moment(s.oldest_pending),
    ]),
  )
}

function searchesTable(searches: readonly SearchStanding[]): string {
  if (searches.length === 0) return ''
  return table(
    ['search', 'documents', 'removed', 'last time', 'loaded (UTC)', 'changed (UTC)'],
    searches.map((s) => [
      s.search,
      s.documents,
      s.removed,
      s.error_code ?? (s.state === 'settled' ? s.task_status : s.state),
      moment(s.loaded_at),
      moment(s.changed_at),
    ]),
  )
}

function sizesTable(sizes: Awaited<ReturnType<typeof batchSizes>>): string {
  if (sizes.length === 0) return ''
  return table(
    ['requests of kind', 'rows each', 'because', 'at (UTC)'],
    sizes.map((size) => [size.kind, size.rows, sizeWords(size), moment(size.updated_at)]),
  )
}
