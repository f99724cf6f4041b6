import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import type { ExchangeClient } from '../../src/exchange/client.ts'
import { housekeeping } from '../../src/jobs/housekeeping.ts'
import type { Job } from '../../src/jobs/job.ts'
import { lookAtRun } from '../../src/jobs/look-at-run.ts'
import { finishWithReport } from '../../src/pipeline/report/finish-with-report.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { emptyTables } from '../helpers/empty-tables.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { openFerry } from '../pipeline/push/ferry.ts'
import { type Answer, json, service } from '../pipeline/push/service.ts'

const dayMs = 86_400_000

const ferry = await ofThisFile(openFerry())
beforeEach(async () => {
  await ferry.clear()
  await emptyTables(ferry.ledger.db, ['removed_value', 'webhook_event'])
})

const reporting: Job = {
  name: 'push',
  steps: [
    {
      name: 'report',
      run: async (deps, run) => {
        await finishWithReport(deps, run)
        return 'done'
      },
    },
  ],
}

/** Values that were removed so many days ago, and events of tasks that came then. */
async function old(...ages: number[]): Promise<void> {
  for (const age of ages) {
    const at = new Date(Date.now() - age * dayMs)
    await sql`
      insert into removed_value (company_key, calculator_key, variable_key, direction, value, submission_id, removed_at)
      values (1, 1, 1, 'i', ${age}, 1, ${at})`.execute(ferry.ledger.db)
    await sql`
      insert into webhook_event (event_id, payload, state, effect, first_at)
      values (${age}, '{}', 'done', 'ended', ${at})`.execute(ferry.ledger.db)
  }
}

/** Lets a job run with a database that shows another time than the machine of the service. */
async function played(job: Job, url: string, aheadDays: number, begun = async (_: ExchangeClient) => {}) {
  await using deps = ferry.deps(url)
  const now = () => new Date(Date.now() + aheadDays * dayMs)
  await begun(deps.client)
  const step = job.steps[0].name
  const { run_id } = await deps.db
    .insertInto('run')
    .values({ job: job.name, trigger: 'schedule', scheduled_for: new Date(), state: 'running', step })
    .returning('run_id')
    .executeTakeFirstOrThrow()
  await lookAtRun({ ...deps, exchange: deps.client, now }, job, run_id)
  const { verdict, report } = await deps.db
    .selectFrom('run')
    .select(['verdict', 'report'])
    .where('run_id', '=', run_id)
    .executeTakeFirstOrThrow()
  const { rows } = await sql<{ values: string[]; events: string[] }>`
    select array(select value from removed_value order by value) as values,
           array(select event_id from webhook_event order by event_id) as events`.execute(deps.db)
  return { verdict, remarks: (report as RunReport).remarks, left: rows[0] }
}

const jobs = [
  ['housekeeping', housekeeping],
  ['a report', reporting],
] as const

const all = { values: ['1', '40'], events: ['1', '40'] }

it.each(jobs)('%s removes what is old while the clocks of the database and the service agree', async (_, job) => {
  await old(1, 40)
  await using server = await service({})
  expect(await played(job, server.url, 0)).toEqual({
    verdict: 'succeeded',
    remarks: [],
    left: { values: ['1'], events: ['1'] },
  })
})

it.each(jobs)(
  '%s removes nothing while the clock of the database is years ahead of that of the service, and says so',
  async (_, job) => {
    await old(1, 40)
    await using server = await service({})
    const { verdict, remarks, left } = await played(job, server.url, 800)
    expect([verdict, left]).toEqual(['partial', all])
    expect(remarks).toEqual([expect.stringMatching(/differ by more than a day: .*2 removed_values, 2 webhook_events/)])
  },
)

it.each(jobs)(
  '%s removes no more than the earlier clock allows while the two differ by less than a day',
  async (_, job) => {
    await old(29.5, 30.5)
    await using server = await service({})
    expect((await played(job, server.url, 0.9)).left?.values).toEqual(['29.5'])
  },
)

it.each(jobs)(
  '%s removes nothing while the service cannot be reached, says what was to go, and does not fail',
  async (_, job) => {
    await old(1, 40)
    const { verdict, remarks, left } = await played(job, 'http://127.0.0.1:9', 0)
    expect([verdict, left]).toEqual(['partial', all])
    expect(remarks).toEqual([expect.stringMatching(/clock is not known: .*1 removed_values, 1 webhook_events/)])
  },
)

const undated =
  (status: number): Answer =>
  (response) => {
    response.sendDate = false
    json([], status)(response)
  }

const fromCache: Answer = (response) => {
  response.setHeader('age', '0')
  json([])(response)
}

describe.each([
  ['has no date', undated(200)],
  ['refuses without a date', undated(403)],
  ['came by way of a cache', fromCache],
])('a service of which every answer %s', (_, answer) => {
  it.each(jobs)('%s removes what is old by the clock of the database', async (_, job) => {
    await old(1, 40)
    await using server = await service({ '/api/v1/unit-types': [answer] })
    expect(await played(job, server.url, 0)).toEqual({
      verdict: 'succeeded',
      remarks: [],
      left: { values: ['1'], events: ['1'] },
    })
  })
})

it.each(jobs)('%s removes nothing while only a gateway answers that cannot reach the service', async (_, job) => {
  await old(1, 40)
  await using server = await service({ '/api/v1/unit-types': [undated(502)] })
  const { verdict, left } = await played(job, server.url, 0)
  expect([verdict, left]).toEqual(['partial', all])
})

it.each(jobs)('%s goes by the one answer that tells the time of the service, after others did not', async (_, job) => {
  await old(1, 40)
  await using server = await service({ '/api/v1/groups': [undated(403)] })
  const asked = async (client: ExchangeClient) => {
    await client.getGroups().catch(() => {})
    expect(client.showsNoClock()).toBe(true)
  }
  const { verdict, left } = await played(job, server.url, 800, asked)
  expect([verdict, left]).toEqual(['partial', all])
})

it('a run says nothing of clocks while nothing is old', async () => {
  await old(1)
  expect(await played(housekeeping, 'http://127.0.0.1:9', 0)).toMatchObject({ verdict: 'succeeded', remarks: [] })
})
