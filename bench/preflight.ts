import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { streamNames } from '../src/config/known-names.ts'
import { settings } from '../src/config/schema.ts'
import { createDatabase, createPool } from '../src/db/database.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { loadContract } from '../src/exchange/contract.ts'
import type { Deps } from '../src/pipeline/deps.ts'
import { judgeRows } from '../src/pipeline/preflight/preflight.ts'
import { keepReferenceData } from '../src/pipeline/reference/fetch-reference-data.ts'
import { storableDocuments } from '../src/pipeline/reference/store-reference-data.ts'
import { Opened } from './opened.ts'

/**
 * How long preflight takes over a ledger of accepted rows and of others that wait: the first time, on a night on which
 * nothing changed, and when the reference data changed: `node bench/preflight.ts --accepted 5000000 --waiting 1000000`.
 * Brings its own PostgreSQL and removes it.
 */
const { values } = parseArgs({
  options: { accepted: { type: 'string', default: '1000000' }, waiting: { type: 'string', default: '1000000' } },
})
const [accepted, waiting] = [Number(values.accepted), Number(values.waiting)]
const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

await using opened = new Opened()
const cluster = await opened.server(await opened.folder('bench'))
await cluster.ensureDatabase('own')
await migrateToLatest(cluster.url('own'))
const pool = createPool(cluster.url('own'), {
  max: 4,
  applicationName: 'nightferry bench',
  searchPath: schemaName,
  onIdleError: () => {},
})
const deps = {
  config: settings.parse({
    streams: Object.fromEntries(streamNames.map((name) => [name, { query: 'select', cursor: 'x' }])),
  }),
  required: { customIdentifierId: id(1) },
  contract: loadContract(fileURLToPath(new URL('../config/contract.yaml', import.meta.url))),
  pool,
  db: createDatabase(pool),
  logger: pino({ level: 'silent' }),
  now: () => new Date(),
} as unknown as Deps
const know = async (title: string) => {
  const framework = {
    id: id(2),
    title,
    questionIds: [id(3)],
    dataPoints: Array.from({ length: 40 }, (_, index) => ({
      id: id(100 + index),
      valueType: 'number',
      reportingPeriodType: 'Any',
      unitIds: [],
      optionIds: [],
      questionId: id(3),
    })),
    titles: {},
  }
  const documents = storableDocuments({ unit_type: [], group: [], custom_property: [], framework: [framework] })
  await deps.db.transaction().execute((trx) => keepReferenceData(deps, trx, documents, null))
}
await know('First')
// Ten answers a hotel. Of those that wait a third was rejected, a third is invalid, a third is parked.
await pool.query(
  `with rows as materialized (
       select n, jsonb_build_object('period_type', 'Yearly', 'year', '2025', 'month', '1', 'value',
                case when n > $1 and n % 3 = 1 then 'many' else n::text end,
                'data_point_id', '00000000-0000-4000-8000-' || lpad((100 + n % 10)::text, 12, '0')) as content,
              substring(sha256(n::text::bytea) for 16) as hash
       from generate_series(1, $1::int + $2::int) n
     ),
     written as (
       insert into source_row (stream, partner_id, row_key, content, desired_hash)
       select 'framework_answers', 'H-' || n / 10, n::text, content, hash from rows
       returning row_id, partner_id, row_key, desired_hash
     )
     insert into acceptance (row_id, partner_id, wanted_hash, accepted_hash, refused_hash)
     select row_id, partner_id, desired_hash, case when n <= $1 then desired_hash end,
            case when n > $1 and n % 3 = 0 then desired_hash end
     from written join rows on rows.n::text = row_key
     order by row_id`,
  [accepted, waiting],
)
await pool.query('vacuum analyze source_row, acceptance')
await timed('the first time', () => judgeRows(deps, new Date()))
await pool.query('vacuum analyze source_row, acceptance')
for (let round = 0; round < 3; round++) await timed('nothing changed', () => judgeRows(deps, new Date()))
await know('Second')
await timed('the reference data changed', () => judgeRows(deps, new Date()))
await pool.query('vacuum analyze source_row, acceptance')
await timed('nothing changed', () => judgeRows(deps, new Date()))
await pool.query(
  `insert into row_finding (row_id, kind, other_row_id, row_hash, other_hash, detail)
     select one.row_id, 'two_frameworks', two.row_id, one.desired_hash, two.desired_hash, ''
     from ledger one join ledger two on two.row_id = one.row_id - 1
     where one.accepted_hash is null and two.accepted_hash is null`,
)
await pool.query('vacuum analyze row_finding')
await timed('nothing changed, and every waiting row contradicts another', () => judgeRows(deps, new Date()))
await pool.end()

async function timed(what: string, work: () => Promise<object>): Promise<void> {
  const start = performance.now()
  const counts = await work()
  const seconds = (performance.now() - start) / 1000
  console.info(
    `${what}: ${seconds.toFixed(3)} s, ${JSON.stringify(counts)}, RSS ${Math.round(process.memoryUsage().rss / 1e6)} MB`,
  )
}
