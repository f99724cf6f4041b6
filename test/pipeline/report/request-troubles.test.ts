import { beforeEach, expect, it } from 'vitest'
import { requestTroubles } from '../../../src/db/runs/request-troubles.ts'
import { statusOf } from '../../../src/jobs/whole-status.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { troubleShownAfterMs, troubleWords } from '../../../src/pipeline/report/trouble-words.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'
import { json, refusal, reset, service } from '../push/service.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const post = '/api/v1/bulk/company-mappings'
const tasks = '/api/v2/bulk/tasks'
const hotels = ['H-1', 'H-2'].map((partner_id) => ({ partner_id, content: { name: partner_id } }))
const utc = (at: Date) => `${at.toISOString().slice(11, 16)} UTC`

it('a request whose answers are lost is named with since when, until when it is sent again, and what comes then', async () => {
  await using server = await service({ [post]: [reset], [tasks]: [json([])] })
  await using deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', hotels)
  const since = ferry.clock.at
  const told = async () => await requestTroubles(deps.db, deps.now(), troubleShownAfterMs)
  await lookAtSubmission(deps, id)
  expect(await told(), 'what may pass by itself').toEqual([])
  for (let look = 0; look < 4; look++) {
    ferry.clock.pass(60_000)
    await lookAtSubmission(deps, id)
  }
  const { run_id } = await ferry.submission(id)
  const trouble = {
    run_id,
    kind: 'company_mappings',
    what: 'answers_lost',
    requests: 1,
    rows: 2,
    submission_id: id,
    since,
  }
  const [found, ...more] = await told()
  expect([found, more]).toMatchObject([trouble, []])
  if (found === undefined) return
  const words = troubleWords(found, deps.config.exchange.giveUpAfterMs, utc)
  expect(words).toMatch(
    new RegExp(
      `^Run ${run_id}: 1 request of company_mappings \\(2 rows\\) has had no answer since 02:00 UTC \\(submission_uncertain: `,
    ),
  )
  expect(words).toContain('Nightferry sends it again until 02:15 UTC. Without an answer it is split in halves then')
  expect(words).toContain(
    `If no task of it goes on at the service, nightferry abandon ${id} gives it up, and the next run sends its rows again.`,
  )
  const status = await statusOf(deps.db, deps.config, deps.contract, deps.now(), 'apart')
  expect(status.troubles).toMatchObject([{ ...trouble, until: new Date(since.getTime() + 900_000) }])
  await ferry.ledger.db.updateTable('run').set({ state: 'failed' }).execute()
  expect(await told(), 'of a run that has ended').toEqual([])
})

it('calls that fail about a task are named with the code, and that the run fails if the service answers nothing', async () => {
  const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
  await using server = await service({
    [post]: [json({ correlationId })],
    [`${tasks}/${correlationId}`]: [refusal(503, 'down')],
  })
  await using deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', hotels)
  await lookAtSubmission(deps, id)
  for (let look = 0; look < 3; look++) {
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
  }
  const [found] = await requestTroubles(deps.db, deps.now(), troubleShownAfterMs)
  expect(found).toMatchObject({ what: 'calls_fail', submission_id: id, code: 'exchange_failed' })
  if (found === undefined) return
  expect(troubleWords(found, 900_000, utc)).toContain(
    'Nightferry calls again until 02:19 UTC. If the service answers nothing by then, the run fails, and the next one goes on from there.',
  )
})

it('a request whose answer was lost before the service went down is named by what the run goes by: calls that fail', async () => {
  await using server = await service({ [post]: [reset], [tasks]: [json([]), refusal(503, 'down')] })
  await using deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', hotels)
  const looks = async (times: number) => {
    for (let look = 0; look < times; look++) {
      await lookAtSubmission(deps, id)
      ferry.clock.pass(60_000)
    }
  }
  await looks(6)
  const { answers_lost_since, failing_since } = await ferry.submission(id)
  expect(failing_since?.getTime()).toBeGreaterThan(answers_lost_since?.getTime() ?? Number.POSITIVE_INFINITY)
  const told = await requestTroubles(deps.db, deps.now(), troubleShownAfterMs)
  expect(told).toMatchObject([{ what: 'calls_fail', submission_id: id, since: failing_since, code: 'exchange_failed' }])
})
