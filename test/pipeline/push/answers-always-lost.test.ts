import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { submissionReports } from '../../../src/db/runs/report-rows.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { noticesOf } from '../../../src/pipeline/report/notices.ts'
import { refusalRemarks } from '../../../src/pipeline/report/report.ts'
import { httpServer, sendJson } from '../../exchange/fault-server.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'
import { unfinished } from './poison-service.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** A service that breaks over a request in which a poisoned text stands, and works on every other. */
async function breakingService(poison: (body: string) => boolean) {
  const tasks: object[] = []
  const bodies: string[] = []
  const server = await httpServer((request, response) => {
    if (request.method === 'POST') {
      bodies.push(request.body)
      if (poison(request.body)) return sendJson(response, { errorCode: 'internal', message: 'It broke.' }, 500)
      const correlationId = randomUUID()
      tasks.unshift({ correlationId, status: 'Success', createdAt: ferry.clock.at.toISOString() })
      return sendJson(response, { correlationId })
    }
    const id = request.path.split('/').at(-1)
    sendJson(response, id === 'tasks' ? tasks : { correlationId: id, status: 'Success' })
  })
  return { ...server, bodies }
}

const answers = (...hotels: number[]) =>
  hotels.map((at) => ({
    partner_id: `H-${String(at).padStart(3, '0')}`,
    content: {
      period_type: 'Yearly',
      year: '2025',
      month: '1',
      data_point_id: '00000000-0000-4000-8000-000000000006',
      value: 'x',
      value_type: 'text',
    },
  }))
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at)

async function untilAllSettled(deps: Deps): Promise<void> {
  for (let round = 0; round < 100; round++) {
    const open = await unfinished(ferry)
    if (open.length === 0) return
    for (const { submission_id } of open) await lookAtSubmission(deps, submission_id)
    ferry.clock.pass(300_000)
  }
  throw new Error('submissions are unfinished after 100 rounds')
}

const rows = () =>
  ferry.ledger.db
    .selectFrom('ledger')
    .select(['partner_id', 'outcome', 'outcome_code', 'outcome_reason', 'refused_hash', 'held_by'])
    .orderBy('partner_id')
    .execute()

async function reports() {
  const run = await ferry.ledger.db
    .selectFrom('run')
    .select('run_id')
    .orderBy('run_id', 'desc')
    .executeTakeFirstOrThrow()
  return await submissionReports(ferry.ledger.db, run.run_id)
}

describe('a request whose answers are lost however often it is sent', () => {
  it('a request whose answers are always lost over one of its rows is split until that row stands alone, and the others are accepted', async () => {
    await using server = await breakingService((body) => body.includes('H-007'))
    await using deps = ferry.deps(server.url)
    await ferry.planned(deps, 'framework_answers', answers(...upTo(12)))
    await untilAllSettled(deps)
    const all = await rows()
    expect(all.filter(({ outcome }) => outcome === 'inferred')).toHaveLength(11)
    expect(all.filter(({ outcome }) => outcome !== 'inferred')).toMatchObject([
      {
        partner_id: 'H-007',
        outcome: 'rejected',
        outcome_code: 'task_error_alone',
        outcome_reason: expect.stringMatching(/^the answers to the request were lost for \d+ seconds: .*It broke/),
        refused_hash: expect.any(Buffer),
        held_by: null,
      },
    ])
    const submissions = await reports()
    expect(noticesOf([], submissions)).toEqual([
      expect.stringMatching(/^Submission \d+ was split .*answers to it were lost however often it was sent; 1 row was/),
    ])
    expect(refusalRemarks(submissions)).toEqual([])
    // The next night does not send the same: the row waits until it changes.
    await ferry.ledger.db.updateTable('run').set({ state: 'finished' }).execute()
    await ferry.ledger.startRun()
    expect(await ferry.wave(deps)).toBe(false)
  })

  it('no row is kept out where the answers to every part of a request are lost, and the run stops over the next request', async () => {
    await using server = await breakingService(() => true)
    await using deps = ferry.deps(server.url)
    await ferry.planned(deps, 'framework_answers', answers(...upTo(8)))
    await untilAllSettled(deps)
    // It, its halves, and theirs.
    expect(new Set(server.bodies).size).toBe(7)
    for (const row of await rows()) {
      expect(row).toMatchObject({ outcome: 'unknown', outcome_code: 'answers_lost', refused_hash: null, held_by: null })
    }
    expect(refusalRemarks(await reports())).toEqual([
      expect.stringMatching(/^Answers to framework_answers are lost whatever they carry \(answers_lost: .*It broke/),
    ])
    await ferry.ledger.landChecked('framework_answers', answers(20))
    await ferry.ledger.db.deleteFrom('kind_sweep').execute()
    await ferry.wave(deps)
    await expect(untilAllSettled(deps)).rejects.toMatchObject({ code: 'submission_uncertain' })
    expect((await ferry.ledger.row('framework_answers', 'H-020')).outcome).toBeNull()
  })

  it('a single row whose answers are always lost ends no run, and goes out again with the next one', async () => {
    await using server = await breakingService(() => true)
    await using deps = ferry.deps(server.url)
    await ferry.planned(deps, 'framework_answers', answers(1))
    await untilAllSettled(deps)
    expect(await rows()).toMatchObject([{ outcome: 'unknown', outcome_code: 'answers_lost', refused_hash: null }])
    await ferry.ledger.db.updateTable('run').set({ state: 'finished' }).execute()
    await ferry.ledger.startRun()
    expect(await ferry.wave(deps)).toBe(true)
  })
})
