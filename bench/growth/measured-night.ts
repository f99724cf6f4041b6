import { fileURLToPath } from 'node:url'
import type { Transaction } from 'kysely'
import type pg from 'pg'
import { streamNames } from '../../src/config/known-names.ts'
import { settings } from '../../src/config/schema.ts'
import { createDatabase, type Database, withSession } from '../../src/db/database.ts'
import { considerEnded } from '../../src/db/ledger/candidates.ts'
import { type NamedError, outcomesFromErrors } from '../../src/db/ledger/error-outcomes.ts'
import { outcomesFromResultFile } from '../../src/db/ledger/file-outcomes.ts'
import { planKind } from '../../src/db/ledger/plan-kind.ts'
import { releaseRetries } from '../../src/db/ledger/rows-again.ts'
import { markForRetry, releaseByPolicy } from '../../src/db/ledger/rows-to-retry.ts'
import { releaseUnsent, settleRows } from '../../src/db/ledger/settle-outcomes.ts'
import { earlierPart, insertPart, rowsToSplit } from '../../src/db/ledger/split-submission.ts'
import { storeMappings } from '../../src/db/ledger/store-mappings.ts'
import { streamReports } from '../../src/db/runs/report-rows.ts'
import type { Schema } from '../../src/db/tables/database-schema.ts'
import type { Submission } from '../../src/db/tables/submission-tables.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { type ComparedSearch, comparedCompanies } from '../../src/pipeline/compare/compare-company.ts'
import { judgeInputs, stageInputs } from '../../src/pipeline/compare/compare-inputs.ts'
import { createFindings, stageFindings, storeFindings } from '../../src/pipeline/compare/findings.ts'
import { storeDifferences } from '../../src/pipeline/compare/input-differences.ts'
import { landRows } from '../../src/pipeline/delta/landing/land-rows.ts'
import { createStage, stagedLine, stageRows } from '../../src/pipeline/delta/landing/stage-rows.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { findContradictions } from '../../src/pipeline/preflight/find-contradictions.ts'
import { storeJudgements, unjudgedRows } from '../../src/pipeline/preflight/judgements.ts'
import { countPending } from '../../src/pipeline/preflight/preflight.ts'
import { beginSending } from '../../src/pipeline/push/sending/send.ts'
import { openExplainedPool } from './explained-pool.ts'
import { isToldAlways, type Knowledge, type LedgerWorld, openLedgerWorld } from './ledger-world.ts'
import { searchAgain } from './measured-pages.ts'
import { snapshotThrice } from './measured-snapshot.ts'
import { answersOf, frameworkDocument, inputsOf, omissionsOf, type PartnerRow, propertiesOf } from './partner-rows.ts'
import type { StatementWork } from './statement-work.ts'

/**
 * The streams of the night, each with the streams that it requires, and the kinds of request that carry them. Nothing
 * is kept apart by framework: all rows of a kind are to be in one request.
 */
const requires = { framework_answers: ['properties'], omissions: ['properties'], calculator_inputs: ['properties'] }
const kinds = {
  company_mappings: { streams: ['properties'] },
  framework_answers: { streams: ['framework_answers', 'omissions'] },
  calculators: { streams: ['calculator_inputs', 'calculator_settings'] },
} as const
type Kind = keyof typeof kinds
const kindList = Object.entries(kinds).map(([kind, { streams }]) => ({ kind, streams }))

/** Rows of the ledger that nobody sends, for each that is sent. */
const restARow = 4
/** What rows are judged by; any number does. */
const basis = 1
/** As preflight does it. */
const judgedAtOnce = 500

/**
 * Every statement of landing, preflight, planning, sending, settlement, comparison, report and pages, on `rows`
 * answers, as many inputs and a tenth of the properties: two nights, each kind in one submission, in a ledger five
 * times as large. The tables are new, and nobody but `knows` tells the planner of them.
 */
export async function measureNight(url: string, rows: number, knows: Knowledge): Promise<StatementWork[]> {
  const { pool, during, statements } = await openExplainedPool(url)
  try {
    const world = await openLedgerWorld(pool)
    const night = new Night(pool, world, during, knows)
    if (knows === 'empty') await world.analyze()
    await world.storeFramework(frameworkDocument)
    await night.first(rows)
    await night.second(rows)
    await night.compared()
    await night.afterwards()
    await night.bySnapshot(rows)
    await night.searched(rows)
    return statements()
  } finally {
    await pool.end()
  }
}

class Night {
  private readonly db: Database
  private readonly deps: Deps
  private runId = 0
  private readonly pool: pg.Pool
  private readonly world: LedgerWorld
  private readonly during: <T>(stage: string, work: () => Promise<T>) => Promise<T>
  private readonly knows: Knowledge

  constructor(
    pool: pg.Pool,
    world: LedgerWorld,
    during: <T>(stage: string, work: () => Promise<T>) => Promise<T>,
    knows: Knowledge,
  ) {
    this.pool = pool
    this.world = world
    this.during = during
    this.knows = knows
    this.db = createDatabase(pool)
    this.deps = {
      pool,
      config: settings.parse({}),
      contract: loadContract(fileURLToPath(new URL('../../config/contract.yaml', import.meta.url))),
      required: { customIdentifierId: 'custom', groupId: 'group', apiKey: 'key', baseUrl: 'http://127.0.0.1' },
      exchange: { skew: () => null },
      db: this.db,
      now: () => new Date(),
    } as Deps
  }

  /** Does and measures one thing; before it, a planner that is to know everything is told. */
  async stage<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (isToldAlways(this.knows)) await this.world.analyze(this.knows)
    return await this.during(name, work)
  }

  async first(rows: number): Promise<void> {
    await this.begin()
    await this.land('landing, first', rows, 0)
    await this.world.addRest(restARow * rows)
    if (this.knows === 'landed') await this.world.analyze()
    await this.stage('preflight', () => this.preflight())

    const mappings = await this.send('company_mappings', rows)
    await this.settle('settlement of mappings', mappings, async (trx) => {
      await settleRows(trx, mappings, true, async () => {
        const { rest } = await outcomesFromResultFile(trx, mappings, { mapping: true })
        await storeMappings(trx, mappings)
        return rest
      })
    })
    if (this.knows === 'midway') await this.world.analyze()
    const answers = await this.send('framework_answers', rows)
    const errors = answersOf(rows, 0).filter((_, index) => index % 100 === 1)
    await this.settle('settlement by errors', answers, async (trx) => {
      await settleRows(trx, answers, true, async () => {
        return (await outcomesFromErrors(trx, answers, errors.map(errorOf), { outcome: 'inferred' })).rest
      })
    })
    const inputs = await this.send('calculators', rows)
    await this.settle('settlement by a result file', inputs, async (trx) => {
      await settleRows(trx, inputs, true, async () => {
        return (await outcomesFromResultFile(trx, inputs, { mapping: false })).rest
      })
    })
    await this.stage('report', () => this.inTransaction((trx) => streamReports(trx, this.runId, requires)))
  }

  async second(rows: number): Promise<void> {
    await this.begin()
    await this.land('landing, unchanged', rows, 0)
    await this.land('landing, changed', rows, 1)
    await this.land('landing, reverted', rows, 0)
    await this.land('landing, changed again', rows, 1)
    await this.stage('preflight, again', () => this.preflight())
    const refused = await this.send('framework_answers', rows)
    await this.settle('settlement of a refusal', refused, async (trx) => {
      const said = { outcome: 'rejected', code: 'refused', reason: 'the request as a whole' } as const
      await settleRows(trx, refused, false, async () => said)
    })
    await this.begin()
    const unsent = await this.plan('framework_answers', rows)
    await this.settle('release of what was not sent', unsent, (trx) => releaseUnsent(trx, unsent))
    await this.split(refused)
  }

  async compared(): Promise<void> {
    const submissionId = await this.world.storeReturned(this.runId)
    await this.stage('comparison', () =>
      this.inTransaction(async (trx) => {
        const search = { submissionId, calculatorTypeIds: [] }
        await stageInputs(trx, search, streamNames)
        await judgeInputs(trx, search)
        await storeDifferences(trx, this.runId, submissionId)
      }),
    )
    const search = { submissionId, search: 'answers', list: 'frameworkAnswers', companyMember: 'companyId' }
    await this.world.storeShown(search)
    for (const night of ['first', 'again']) {
      await this.stage(`comparison of documents, ${night}`, () =>
        this.inTransaction((trx) => this.compareShown(trx, search)),
      )
    }
  }

  /** One row in fifty differs. */
  private async compareShown(trx: Transaction<Schema>, search: ComparedSearch): Promise<void> {
    await createFindings(trx)
    const compared = { streams: kinds.framework_answers.streams, carried: streamNames }
    for await (const companies of comparedCompanies(trx, compared, search)) {
      const differing = companies.flatMap(({ company_id, rows }) =>
        rows
          .filter(({ row_id }) => row_id % 50 === 1)
          .map(({ row_id }) => ({
            ...{ row_id, company_id, kind: 'different' as const, sent: '1', stored: '2' },
            ...{ cause: null, changed_there_at: null },
          })),
      )
      await stageFindings(trx, differing)
    }
    await storeFindings(trx, 'answers', this.runId)
  }

  /** What the next night begins with. */
  async afterwards(): Promise<void> {
    const policies = [{ stream: null, code: 'NotFound', after_ms: 0, times: null }]
    await this.stage('rows sent again', async () => {
      await this.inTransaction((trx) => markForRetry(trx, 1, streamNames, { stream: 'calculator_inputs' }))
      await releaseRetries(this.db, streamNames)
      await releaseByPolicy(this.db, streamNames, policies, new Date())
    })
  }

  async bySnapshot(rows: number): Promise<void> {
    await this.begin()
    await this.world.forgetStreams(['custom_property_values', 'calculator_inputs'])
    const run = await this.db.selectFrom('run').selectAll().where('run_id', '=', this.runId).executeTakeFirstOrThrow()
    await this.stage('snapshot', () => snapshotThrice({ ...this.deps, pool: this.pool }, run, rows))
  }

  async searched(rows: number): Promise<void> {
    await this.begin()
    const search = { pool: this.pool, contract: this.deps.contract, runId: this.runId }
    await searchAgain(search, rows, this.stage.bind(this))
  }

  private async begin(): Promise<void> {
    this.runId = await this.world.startRun()
    for (const stream of ['properties', 'framework_answers', 'omissions', 'calculator_inputs']) {
      await this.world.noteStream(this.runId, stream)
    }
  }

  private async land(stage: string, rows: number, version: number): Promise<void> {
    const streams: [string, PartnerRow[], 'inputs' | undefined][] = [
      // What is required stays as it was accepted.
      ['properties', propertiesOf(rows), undefined],
      ['framework_answers', answersOf(rows, version), undefined],
      ['omissions', omissionsOf(rows), undefined],
      ['calculator_inputs', inputsOf(rows, version), 'inputs'],
    ]
    for (const [stream, staged, foldedKey] of streams) {
      await this.stage(stage, () =>
        withSession(this.pool, ({ client, db }) =>
          db.transaction().execute(async (trx) => {
            await createStage(trx)
            await stageRows(
              client,
              // Every other row is judged on its way, so that preflight has some left.
              staged.map((row, ordinal) =>
                stagedLine({ ...row, ordinal, reason: ordinal % 2 === 0 ? null : undefined }),
              ),
            )
            await landRows(trx, { runId: this.runId, stream, foldedKey, judgedBy: basis, guard: async () => false })
          }),
        ),
      )
    }
  }

  private async preflight(): Promise<void> {
    await countPending(this.db, this.runId)
    await this.inTransaction((trx) => findContradictions(trx, basis, new Date(), streamNames))
    for await (const rows of unjudgedRows(this.db, basis, judgedAtOnce)) {
      const judgements = rows.map(({ row_id, hash }) => ({ row_id, hash, invalid_reason: null, warnings: [] }))
      await storeJudgements(this.db, basis, judgements)
    }
  }

  private async plan(kind: Kind, rows: number): Promise<number> {
    const { streams } = kinds[kind]
    const ids = await this.stage(`planning of ${kind}`, () =>
      this.inTransaction(async (trx) => {
        await considerEnded(trx, this.runId, kindList, requires)
        const judgesProperties = kind !== 'framework_answers'
        const options = { runId: this.runId, kind, streams, requires, partitionBy: null, judgesProperties }
        // Twice as many as there are: of one property no more than half a request.
        return await planKind(trx, { ...options, kindStreams: streams, maxRows: 2 * rows, requests: 1, sweep: true })
      }),
    )
    if (ids[0] === undefined || ids.length > 1) throw new Error(`${ids.length} submissions of ${kind} were planned`)
    return ids[0]
  }

  private async send(kind: Kind, rows: number): Promise<number> {
    const id = await this.plan(kind, rows)
    await this.stage(`body of ${kind}`, async () => {
      await beginSending(this.deps, await this.submission(id))
    })
    await this.world.accept(id)
    if (kind !== 'framework_answers') await this.world.stageOutcomes(id, kind === 'company_mappings')
    return id
  }

  private async settle(stage: string, id: number, work: (trx: Transaction<Schema>) => Promise<void>): Promise<void> {
    await this.stage(stage, () => this.inTransaction(work))
    await this.world.end(id)
  }

  /** Halves a request, as one that ended in an error without rows is. */
  private async split(id: number): Promise<void> {
    await this.stage('split', async () => {
      const parent = await this.submission(id)
      const last = await this.inTransaction(async (trx) => {
        const rows = (await rowsToSplit(trx, id, requires)).map(({ row_id }) => row_id)
        if (rows.length === 0) throw new Error('no row is left to split')
        const middle = Math.ceil(rows.length / 2)
        await insertPart(trx, parent, this.runId, rows.slice(0, middle))
        return await insertPart(trx, parent, this.runId, rows.slice(middle))
      })
      await earlierPart(this.db, await this.submission(last))
    })
  }

  private async submission(id: number): Promise<Submission> {
    return await this.db.selectFrom('submission').selectAll().where('submission_id', '=', id).executeTakeFirstOrThrow()
  }

  private async inTransaction<T>(work: (trx: Transaction<Schema>) => Promise<T>): Promise<T> {
    return await this.db.transaction().execute(work)
  }
}

function errorOf({ partnerId, content }: PartnerRow): NamedError {
  const nothing = { company_id: null, question_id: null, property_id: null, standard_id: null, field_type_id: null }
  const point = { data_point_id: String(content.data_point_id), period_type: 'Yearly', year: 2025, month: null }
  return { ...nothing, ...point, partner_id: partnerId, code: 'out_of_range', reason: 'outside the range', why: null }
}
