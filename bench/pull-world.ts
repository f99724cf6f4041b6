import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import { loadContract } from '../src/exchange/contract.ts'
import { writeRows } from './copy-limit.ts'
import { generatePage, type PageOptions } from './generate-page.ts'
import type { LoadTask, Spent, Way } from './load-process.ts'
import { processorOf } from './memory.ts'
import type { Opened } from './opened.ts'
import { emptyPeopleTables, makePeopleTables, vacuumPeopleTables } from './people-load.ts'
import { addressOf, type StoredPage, storePage } from './sandbox-file.ts'
import { startSandboxProcess } from './sandbox-process.ts'

/** What became of the rows of one table since the last look. */
export type Writes = Record<'inserted' | 'updated' | 'deleted', number>

/** What a way of loading took; the sandbox's share is that of its process, not of its database's. */
export type Measured = Spent & { sandbox: number; writes: Record<string, Writes>; care: string | null }

export type LoadOptions = {
  /** Of load-process.ts, the default, or of its built form. */
  script?: string | undefined
  /** Whether the search is ended afterwards. */
  endsSearch?: boolean
}

export type PullWorld = {
  db: pg.Pool
  /** Makes a page and has the sandbox keep it. */
  store(options: PageOptions): Promise<StoredPage>
  /** Empties what a page becomes, Nightferry's and people's. */
  empty(): Promise<void>
  /** What autovacuum has done until the next night. */
  rest(): Promise<void>
  /** Loads a page, or all of a search, in a process of its own, after a checkpoint. */
  load(way: Way, pages: StoredPage | readonly StoredPage[], options?: LoadOptions): Promise<Measured>
  /** Writes the loaded rows down for the limit. */
  keepRows(): Promise<void>
}

const fromSources = fileURLToPath(new URL('./load-process.ts', import.meta.url))
const contractFile = fileURLToPath(new URL('../config/contract.yaml', import.meta.url))
const tables = ['company', 'company_property', 'calculator', 'calculator_value']
const runProcess = promisify(execFile)

/**
 * Opens what the benchmark needs: a Postgres for Nightferry and one for the sandbox, which is a process of its own, as
 * the service is elsewhere. All of it is gone when `opened` is closed.
 */
export async function openPullWorld(opened: Opened): Promise<PullWorld> {
  const folder = await opened.folder('pull')
  const contract = loadContract(contractFile)

  const sandboxFolder = join(folder, 'sandbox')
  const sandboxCluster = await opened.server(join(sandboxFolder, 'postgres'))
  const sandboxDatabase = 'sandbox'
  const service = await startSandboxProcess(sandboxFolder, ['--companies', '2', '--database', sandboxDatabase])
  opened.defer(() => service.stop())
  const sandbox = openPool(opened, sandboxCluster.url(sandboxDatabase))

  // Vacuumed where a night would have passed, and not whenever it happens to be time: that would fall on one line or
  // another.
  const cluster = await opened.server(join(folder, 'nightferry'), { autovacuum: 'off' })
  const databaseUrl = cluster.url('nightferry_bench')
  await cluster.ensureDatabase('nightferry_bench')
  await migrateToLatest(databaseUrl)
  const db = openPool(opened, databaseUrl)
  await makePeopleTables(db)
  const rows = join(folder, 'rows')
  await mkdir(rows)

  return {
    db,
    store: (options) => storePage(sandbox, generatePage(options, contract)),
    empty: async () => {
      await db.query(`truncate company, custom_property, company_property, calculator_variable, calculator, calculator_value,
        search_seen_company, search_seen_calculator, quarantine, page_listing restart identity`)
      await emptyPeopleTables(db)
      // As in a database just made: the planner knows nothing of what is to come, rather than what is gone.
      await db.query(
        `delete from pg_statistic where starelid in (
           select oid from pg_class where relnamespace = any(array[$1, 'people']::regnamespace[])
         )`,
        [schemaName],
      )
    },
    rest: async () => {
      await db.query(`vacuum analyze ${tables.join(', ')}`)
      await vacuumPeopleTables(db)
    },
    load: async (way, pages, { script = fromSources, endsSearch = false } = {}) => {
      const stored = [pages].flat()
      const listed = await listPages(db, stored.length)

      const task: LoadTask = {
        way,
        databaseUrl,
        contractFile,
        folder: rows,
        serviceUrl: service.url,
        pages: await Promise.all(
          listed.map(async (page, at) => ({
            ...page,
            url: await addressOf(sandbox, service.filesUrl, some(stored[at])),
          })),
        ),
        endsSearch,
      }
      await db.query('checkpoint')
      const written = await writesUntilNow(db)
      const served = processorOf(service.pid)
      const { stdout } = await runProcess(process.execPath, [script, JSON.stringify(task)], {
        env: { PATH: process.env.PATH },
        timeout: 3_600_000,
        signal: opened.signal,
      })
      const spent = JSON.parse(stdout) as Spent
      const writes = since(written, await writesUntilNow(db))
      return { ...spent, sandbox: processorOf(service.pid) - served, writes, care: await careOf(db, task.pages) }
    },
    keepRows: async () => {
      const client = await db.connect()
      await writeRows(client, rows)
      client.release()
    },
  }
}

function openPool(opened: Opened, url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4, options: `-c search_path=${schemaName}` })
  pool.on('error', () => {})
  opened.defer(() => pool.end())
  return pool
}

function some(page: StoredPage | undefined): StoredPage {
  if (page === undefined) throw new Error('more pages were listed than are stored')
  return page
}

type ListedPage = Omit<LoadTask['pages'][number], 'url'>

/** A search of some pages, of a run that goes on. */
async function listPages(db: pg.Pool, count: number): Promise<ListedPage[]> {
  await db.query(`update run set state = 'finished'`)
  const { rows } = await db.query<ListedPage>(
    `with begun as (
       insert into run (job, trigger, scheduled_for, state, step) values ($1, 'cli', now(), 'running', 'load') returning run_id
     ), asked as (
       insert into submission (run_id, kind, state, row_count)
       select run_id, 'calculators_search', 'settled', 0 from begun returning submission_id
     )
     insert into search_page (submission_id, ordinal, url, state)
     select submission_id, page, 'https://pages.example/' || page, 'listed' from asked, generate_series(0, $2 - 1) as page
     returning page_id::int, submission_id::int`,
    [randomUUID(), count],
  )
  return rows
}

/** As pg_stat_user_tables counts them, once the backends that loaded are gone and have told all. */
async function writesUntilNow(db: pg.Pool): Promise<Record<string, Writes>> {
  for (;;) {
    const { rowCount } = await db.query(`select from pg_stat_activity where application_name = 'nightferry bench'`)
    if (rowCount === 0) break
    await delay(20)
  }
  const { rows } = await db.query<{ table: string } & Record<keyof Writes, string>>(
    `select relname as table, n_tup_ins as inserted, n_tup_upd as updated, n_tup_del as deleted
     from pg_stat_user_tables where schemaname = $1 and relname = any($2)`,
    [schemaName, tables],
  )
  return Object.fromEntries(
    rows.map(({ table, inserted, updated, deleted }) => [
      table,
      { inserted: Number(inserted), updated: Number(updated), deleted: Number(deleted) },
    ]),
  )
}

function since(before: Record<string, Writes>, after: Record<string, Writes>): Record<string, Writes> {
  const none: Writes = { inserted: 0, updated: 0, deleted: 0 }
  return Object.fromEntries(
    Object.entries(after).map(([table, now]) => {
      const then = before[table] ?? none
      return [
        table,
        {
          inserted: now.inserted - then.inserted,
          updated: now.updated - then.updated,
          deleted: now.deleted - then.deleted,
        },
      ]
    }),
  )
}

/** Why a page was loaded with care, if one was. */
async function careOf(db: pg.Pool, pages: readonly ListedPage[]): Promise<string | null> {
  const { rows } = await db.query<{ care: string | null }>(
    'select max(care) as care from search_page where page_id = any($1)',
    [pages.map(({ page_id }) => page_id)],
  )
  return rows[0]?.care ?? null
}
