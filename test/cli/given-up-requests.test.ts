import { beforeEach, expect, it, vi } from 'vitest'
import { lookAtSubmission } from '../../src/pipeline/push/look-at-submission.ts'
import { apiKey } from '../exchange/test-client.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig } from '../helpers/world.ts'
import { openFerry } from '../pipeline/push/ferry.ts'
import { json, refusal, type ScriptedService, service } from '../pipeline/push/service.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const task = `/api/v2/bulk/tasks/${correlationId}`
const post = '/api/v1/bulk/company-mappings'
const property = { partner_id: 'H-1', content: { name: 'Zur Brücke' } }

/** Runs a verb on a submission as a person would. */
async function call(url: string, verb: string, submissionId: number) {
  await using folder = await workingFolder()
  return await nightferry(folder.path, [verb, String(submissionId), '--config', demoConfig], {
    DATABASE_URL: ferry.ledger.url,
    PARTNER_DATABASE_URL: ferry.ledger.url,
    EXCHANGE_BASE_URL: url,
    EXCHANGE_API_KEY: apiKey,
  })
}

/** A service that has begun with the task, and cancels it no more. */
const begun = (answers: object | null): Promise<ScriptedService> =>
  service({
    [post]: [json({ correlationId })],
    [`${task}/cancel`]: [refusal(409, 'too_late', 'Processing has begun.')],
    [task]: [answers === null ? refusal(403) : json(answers)],
  })

async function accepted(server: ScriptedService): Promise<number> {
  await using deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', [property])
  await lookAtSubmission(deps, id)
  expect((await ferry.submission(id)).state).toBe('accepted')
  return id
}

const patience = { timeout: 60_000, interval: 20 }
const inProgress = { correlationId, status: 'InProgress', taskKind: 'CompanyMappingRequest', requestType: null }

it.each([
  ['says that it may have ended where the service does not show it', null, /may have ended since; the run reads/],
  ['says that it goes on where the service shows it so', inProgress, /so the task goes on/],
])('cancel of a task that is not cancelled %s', async (_, answers, said) => {
  await using server = await begun(answers)
  const { code, stderr } = await call(server.url, 'cancel', await accepted(server))
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(said) })
  expect(server.count(task)).toBe(1)
  if (answers === null) expect(stderr).not.toContain('goes on')
})

it('cancel waits for a look of the run that is at work, and says what its own has seen', async () => {
  const client = await ferry.ledger.pool.connect()
  try {
    // It stands in line for the lock that the verb has while it calls, and so has it next.
    const lock = Promise.withResolvers<void>()
    let id = 0
    await using server = await service({
      [post]: [json({ correlationId })],
      [`${task}/cancel`]: [
        (response) => {
          client.query('select pg_advisory_lock(4711011, $1)', [id]).then(() => lock.resolve(), lock.reject)
          const waiting = "select from pg_locks where locktype = 'advisory' and not granted"
          const answer = async () => {
            await vi.waitFor(async () => expect((await ferry.ledger.pool.query(waiting)).rowCount).toBe(1), patience)
            response.writeHead(409).end()
          }
          answer().catch(lock.reject)
        },
      ],
      [task]: [json(inProgress)],
    })
    id = await accepted(server)
    const cancelled = call(server.url, 'cancel', id)
    await lock.promise
    const tried = "select from pg_stat_activity where query like '%pg_try_advisory_lock%' and pid <> pg_backend_pid()"
    await vi.waitFor(async () => expect((await client.query(tried)).rowCount).toBeGreaterThan(0), patience)
    expect(server.count(task)).toBe(0)
    await client.query('select pg_advisory_unlock_all()')
    expect(await cancelled).toMatchObject({ code: 1, stderr: expect.stringContaining('so the task goes on') })
  } finally {
    client.release(true)
  }
}, 120_000)

it('cancel of a search whose run has ended says that the next run searches again', async () => {
  await using server = await begun(inProgress)
  const id = await accepted(server)
  await ferry.ledger.pool.query(`update submission set kind = 'calculators_search'`)
  await ferry.ledger.pool.query(`update run set state = 'failed', finished_at = now()`)
  const { code, stderr } = await call(server.url, 'cancel', id)
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('the next one searches again') })
  expect(stderr).not.toContain('reads the outcome')
})

it('abandon of an unsent part of a request says that the next run sends its rows, which this one does not', async () => {
  await using server = await begun(inProgress)
  await using deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', [property])
  // The request was sent, and ended in an error that names no row: what is left of it goes out as a part.
  const { rows } = await ferry.ledger.pool.query<{ part: number }>(
    `with part as (
       insert into submission (run_id, kind, partition, state, row_count, parent_id, root_id, depth)
       select run_id, kind, partition, 'planned', 1, submission_id, submission_id, 1 from submission
       returning submission_id
     ),
     held as (update held_property set submission_id = part.submission_id from part),
     linked as (
       insert into submission_row (submission_id, row_id, sent_hash)
       select part.submission_id, row_id, sent_hash from part, submission_row
     ),
     told as (
       update acceptance set outcome = 'unknown', outcome_code = 'task_error', outcome_submission = $1,
              outcome_at = clock_timestamp()
     ),
     ended as (
       update submission set state = 'settled', attempted_at = clock_timestamp(), rest_outcome = 'unknown'
     )
     select submission_id as part from part`,
    [id],
  )
  const given = await call(server.url, 'abandon', rows[0]?.part ?? 0)
  expect(given, given.stderr).toMatchObject({ code: 0 })
  expect(given.stdout).toContain(`The next run sends its 1 row again, which went out with submission ${id}.`)
  expect(given.stdout).not.toContain('at once')
  expect(await ferry.wave(deps), 'the same run does not send the row').toBe(false)
  await ferry.ledger.startRun()
  expect(await ferry.wave(deps), 'the next one does').toBe(true)
})
