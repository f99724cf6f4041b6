import pg from 'pg'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { nestedWorkOf, type PlanNode, type StatementWork, workOf } from './statement-work.ts'

export type ExplainedPool = {
  pool: pg.Pool
  /** Notes the statements of `work` under the name of a stage; other work of the pool meanwhile counts as well. */
  during: <T>(stage: string, work: () => Promise<T>) => Promise<T>
  /** What was noted, by stage and text. */
  statements: () => StatementWork[]
}

/**
 * Set for the database. Plans go to the client, so no log has to be read; without timing, counting costs next to
 * nothing.
 */
const explaining = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
  'auto_explain.log_parameter_max_length': '0',
}

/**
 * A pool whose connections tell the plan of every statement when it is done. The database must be the caller's own:
 * every later connection to it tells as well.
 */
export async function openExplainedPool(url: string): Promise<ExplainedPool> {
  await setForDatabase(url)
  const pool = createPool(url, {
    max: 2,
    applicationName: 'nightferry growth',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  const noted = new Map<string, StatementWork>()
  let stage: string | undefined
  pool.on('connect', (client) => {
    client.on('notice', ({ message = '' }) => {
      const explained = /^duration: ([\d.]+) ms {2}plan:\n(\{.*\})\s*$/s.exec(message)
      if (explained === null || stage === undefined) return
      const { 'Query Text': query, Plan: plan } = JSON.parse(explained[2] ?? '') as {
        'Query Text': string
        Plan: PlanNode
      }
      const text = query.replaceAll(/\s+/g, ' ').trim()
      const key = `${stage}\n${text}`
      const statement = noted.get(key) ?? { stage, text, executions: 0, work: 0, nested: 0, ms: 0 }
      statement.executions += 1
      statement.work += workOf(plan)
      statement.nested = Math.max(statement.nested, nestedWorkOf(plan))
      statement.ms += Number(explained[1])
      noted.set(key, statement)
    })
  })
  return {
    pool,
    during: async (name, work) => {
      stage = name
      try {
        return await work()
      } finally {
        stage = undefined
      }
    },
    statements: () => [...noted.values()],
  }
}

async function setForDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name')
    for (const [setting, value] of Object.entries(explaining)) {
      await client.query(`alter database ${rows[0]?.name} set ${setting} = '${value}'`)
    }
  } finally {
    await client.end()
  }
}
