import { randomUUID } from 'node:crypto'
import { settings } from '../../config/schema.ts'
import { createWebhookVerifier } from '../../exchange/webhook-signature.ts'
import type { Bench } from '../bench.ts'
import type { Hotel } from '../evidence/hotel.ts'
import { searches } from '../evidence/searches.ts'
import { endOf, listTasks } from '../evidence/task-run.ts'
import { webhookRules } from '../evidence/webhook-rules.ts'
import { fullProfile, ladder, logAfterAMonth, silentTrial } from '../evidence/webhook-trials.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { largeMapping, mostAnswers, tooManyAnswers } from '../evidence/written-rest.ts'
import { differs, holds, judged, notObserved, type Observation, together } from '../observation.ts'
import { isTaken, objectsOf, said, textOf } from '../wire-json.ts'
import { type Checks, givenEvents, givenHotel, withEvents } from './check.ts'
import { judgeTooMany } from './judge-task.ts'
import { ourSide } from './our-side.ts'

/** As many rows as are allowed: where fewer under the same names were taken, these are not refused. */
async function judgeMost(bench: Bench, hotel: Hotel): Promise<Observation> {
  const { status } = (await mostAnswers(bench, hotel)).submitted
  const seen = `50,000 rows answered ${status}`
  if (isTaken(status)) return holds(seen)
  const fewer = await writeAnswers(bench, hotel)
  const areTaken = typeof fewer !== 'string' && isTaken(fewer.mixed.submitted.status)
  return areTaken && status !== 429 ? differs(seen) : notObserved(`${seen}, and that fewer are taken was not seen`)
}

/** Specification, Limits. */
export const limitChecks: Checks<'limits'> = {
  'limits/companies-per-mapping': ourSide(() => {
    const most = (companies: number) => settings.safeParse({ push: { maxCompaniesPerMapping: companies } }).success
    return judged(most(99_999) && !most(100_000), 'the configuration takes 99,999 and refuses 100,000')
  }),
  'limits/answers': givenHotel(tooManyAnswers, async (run, bench, hotel) => {
    const most = (rows: number) => settings.safeParse({ push: { maxAnswersPerUpsert: rows } }).success
    return together(
      judgeTooMany(bench, run),
      await judgeMost(bench, hotel),
      judged(!most(50_001), 'our side sends no more than 50,000'),
    )
  }),
  'limits/payload': givenHotel(largeMapping, (run) =>
    judged(
      isTaken(run.submitted.status) && run.task !== null,
      `${endOf(run)}: 30,000 entries; our side splits what is more`,
    ),
  ),
  'limits/webhooks-per-profile': givenEvents(fullProfile, ({ count, refused }) =>
    judged(count === 5, `${count} were taken, then ${refused ?? 'no refusal'}`),
  ),
  'limits/webhook-url': givenEvents(webhookRules, ({ longest, always }) => {
    const over = always['2049 characters']?.status
    return judged(
      longest.status === 200 && over === 400,
      `2048 answered ${longest.status}, 2049 answered ${said(over)}`,
    )
  }),
  'limits/topics': givenEvents(webhookRules, ({ noTopics }) =>
    judged(noTopics.status === 400, `an empty list answered ${noTopics.status}`),
  ),
  'limits/webhook-deadline': withEvents(async (bench) => {
    const [attempt] = objectsOf((await silentTrial(bench))?.attempts)
    const latency = Number(attempt?.latencyMs)
    return judged(
      attempt?.httpStatus === null && latency >= 9_500 && latency < 15_000,
      `given up after ${latency} ms: ${said(attempt?.error)}`,
    )
  }),
  'limits/attempts': givenEvents(ladder, ({ cameLater, attemptsLater }) =>
    judged(cameLater === 6 && attemptsLater === 6, `${cameLater} attempts came, ${attemptsLater} are in the log`),
  ),
  'limits/tolerance': ourSide((bench) => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const verdict = (aheadMs: number) => {
      const verified = createWebhookVerifier([secret], () => bench.now() + aheadMs)
      const timestamp = String(Math.floor(bench.now() / 1000))
      const seen = verified({ id: randomUUID(), timestamp, signature: 'v1,wrong', body: Buffer.from('{}') })
      return seen.verified ? 'verified' : seen.reason
    }
    const kept =
      verdict(302_000) === 'timestamp_too_old' &&
      verdict(-302_000) === 'timestamp_too_new' &&
      verdict(298_000) === 'signature_mismatch'
    return judged(kept, 'beyond 300 s either way a delivery is refused, whatever its signature')
  }),
  'limits/log-retention': withEvents(async (bench) => {
    await ladder(bench)
    const { before, kept, after } = await logAfterAMonth(bench)
    return judged(
      before.length > 0 && kept >= before.length && after === 0,
      `${kept} of ${before.length} lines after 28 days, ${after} after thirty`,
    )
  }),
  'limits/open-rates': async (bench) => {
    await searches(bench)
    const calls = [...bench.wire.statuses.values()].reduce((sum, count) => sum + count, 0)
    return holds(`${bench.wire.statuses.get(429) ?? 0} of ${calls} calls so far were answered 429`)
  },
  'limits/open-retention': async (bench) => {
    const { createdAt } = bench.contract.names.task
    const times = objectsOf((await listTasks(bench)).json).flatMap((task) => textOf(task[createdAt]) ?? [])
    const oldest = times.toSorted()[0]
    return oldest === undefined
      ? notObserved('the list names no times')
      : holds(`the oldest of ${times.length} listed tasks is of ${oldest.slice(0, 19)}`)
  },
}
