import { type Bench, needsCertifier } from '../bench.ts'
import { differs, holds, notObserved, type Observation } from '../observation.ts'
import type { Answer } from '../wire.ts'
import { objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { administer } from './administration.ts'
import { ask } from './reference-evidence.ts'
import { eventsAt, type SeenEvent, setUp } from './webhook-evidence.ts'
import { createWebhook, everyTopic, flush, type OwnWebhook } from './webhook-set-up.ts'

/** The certifier's applications; `answer` null where its key is not known. */
export function applicationsOf(
  bench: Bench,
): Promise<{ answer: Answer | null; records: WireObject[]; seen: Observation }> {
  return bench.once('applications', async () => {
    const key = bench.certifierKey
    if (key === null) return { answer: null, records: [], seen: notObserved(needsCertifier) }
    const answer = await ask(bench, 'application', bench.contract.otherEndpoints.applications, { key })
    const records = objectsOf(answer.json)
    const seen = answer.status === 200 ? holds(`${records.length} applications`) : differs(`${answer.status}`)
    return { answer, records, seen }
  })
}

type ApplicationChanges = {
  webhook: OwnWebhook
  applicationId: string
  /** Statuses that were set, in order, and where. */
  set: { status: string; by: 'api' | 'administration' }[]
  /** Answers to the calls that changed something. */
  answers: Answer[]
  /** Events about the application, by topic, after each step. */
  statusEvents: SeenEvent[]
  /** After two changes of answers before one dispatch, and after one more. */
  foldedEvents: SeenEvent[]
  answersEvents: SeenEvent[]
}

/**
 * Changes one application of the certifier, by the API and as in the web application; a sentence when there is none.
 */
export function changeApplication(bench: Bench): Promise<ApplicationChanges | string> {
  return bench.once('application changes', async () => {
    const key = bench.certifierKey
    const opened = await setUp(bench)
    const { records } = await applicationsOf(bench)
    const names = bench.contract.names.application
    const [record] = records
    const applicationId = textOf(record?.[names.id])
    if (key === null || record === undefined || applicationId === null) return needsCertifier
    const webhook = await createWebhook(bench, opened.receiver, '/certifier', everyTopic(bench), { key })
    if (typeof webhook === 'string') return webhook
    const { applicationStatus, applicationAnswers, applicationAnswersUpdate } = bench.contract.otherEndpoints
    const id = { id: applicationId, key }
    const before = textOf(record[names.status]) ?? names.inPreparation
    const [first, second] = [names.awaitingApplicationReview, names.approved, names.rejected].filter(
      (one) => one !== before,
    )
    const events = async (topic: string) => {
      await flush(bench, webhook)
      return eventsAt(bench, opened, '/certifier').filter(({ type }) => type === topic)
    }
    const { applicationStatusChanged, applicationAnswersChanged } = bench.contract.webhookTopics

    const answers = [await bench.wire.call(applicationStatus, { ...id, body: { [names.status]: first } })]
    const administered = { key, body: { status: second } }
    answers.push(await administer(bench, 'PUT', `applications/${applicationId}/status`, administered))
    const statusEvents = await events(applicationStatusChanged)

    const stored = await ask(bench, 'applicationAnswers', applicationAnswers, id)
    const rewritten = rewrite(bench, stored.json)
    for (const body of rewritten) {
      answers.push(await ask(bench, 'applicationAnswers', applicationAnswersUpdate, { ...id, body }))
    }
    const foldedEvents = await events(applicationAnswersChanged)
    const back = rewritten[0]
    if (back) answers.push(await bench.wire.call(applicationAnswersUpdate, { ...id, body: back }))
    const answersEvents = await events(applicationAnswersChanged)
    await bench.wire.call(applicationStatus, { ...id, body: { [names.status]: before } })
    return {
      webhook,
      applicationId,
      set: [
        { status: first ?? '', by: 'api' },
        { status: second ?? '', by: 'administration' },
      ],
      answers,
      statusEvents,
      foldedEvents,
      answersEvents,
    }
  })
}

/** Two bodies that each change one stored answer: a text, a number or a boolean. */
function rewrite({ contract }: Bench, stored: unknown): WireObject[] {
  const names = contract.names.application
  const spelt = contract.names.frameworkAnswers
  for (const { [names.dataPointId]: dataPointId, [names.answer]: answer } of objectsOf(
    (stored as WireObject | null)?.[names.answers],
  )) {
    const values = changed(spelt, answer as WireObject)
    if (values)
      return values.map((value) => ({ [names.answers]: [{ [names.dataPointId]: dataPointId, [names.answer]: value }] }))
  }
  return []
}

function changed(names: Bench['contract']['names']['frameworkAnswers'], answer: WireObject): WireObject[] | null {
  if (typeof answer?.[names.number] === 'number') return [{ [names.number]: 2 }, { [names.number]: 3 }]
  if (typeof answer?.[names.text] === 'string') return [{ [names.text]: 'first' }, { [names.text]: 'second' }]
  if (typeof answer?.[names.boolean] !== 'boolean') return null
  const value = answer[names.boolean]
  return [{ [names.boolean]: !value }, { [names.boolean]: value }]
}
