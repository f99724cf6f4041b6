import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { adoptUnfinished } from '../../../src/db/runs/run-life.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import type { Landing } from '../../db/ledger/ledger.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'
import { outcomes, poisonService, properties, unfinished, untilAllSettled } from './poison-service.ts'
import { ids } from './rows.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** As if at random, and the same every time. */
function scattered(): () => number {
  let state = 7
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state >> 8
  }
}

const answer = (partner_id: string, row_key: string, value: string): Landing => ({
  partner_id,
  row_key,
  content: {
    framework_id: ids.framework,
    period_type: 'Yearly',
    year: String(2000 + Number(row_key.replaceAll(/\D/g, '').slice(-2))),
    month: '1',
    data_point_id: ids.number,
    value,
    value_type: 'number',
  },
})

describe('a request whose task ends in Error without naming a row', () => {
  it('a request whose task ends in Error without naming a row is split in two halves, which carry its rows, keep its partition and belong to the same run', async () => {
    await using service = await poisonService((body) => body.includes('"n1."'))
    await using deps = ferry.deps(service.url)
    const id = await ferry.planned(
      deps,
      'framework_answers',
      ['1', '2', '3', '4'].map((n) => answer(`H-${n}`, n, n)),
    )
    await using failing = await poisonService(() => true)
    await using failingDeps = ferry.deps(failing.url)
    await lookAtSubmission(failingDeps, id)
    await ferry.asked()
    await lookAtSubmission(failingDeps, id)
    const parent = await ferry.submission(id)
    expect(parent).toMatchObject({ state: 'settled', task_status: 'Error', depth: 0, parent_id: null, root_id: null })
    const halves = await ferry.ledger.db
      .selectFrom('submission')
      .selectAll()
      .where('parent_id', '=', id)
      .orderBy('submission_id')
      .execute()
    const same = { state: 'planned', kind: 'framework_answers', partition: ids.framework, run_id: parent.run_id }
    expect(halves).toMatchObject([
      { ...same, depth: 1, root_id: id, row_count: 2, payload_bytes: null },
      { ...same, depth: 1, root_id: id, row_count: 2, payload_bytes: null },
    ])
    const [first, second] = halves.map(({ submission_id }) => submission_id)
    const { rows: held } = await sql<{ row_key: string; held_by: number }>`
      select row_key, held_by from ledger order by row_id`.execute(ferry.ledger.db)
    expect(held.map(({ row_key, held_by }) => [row_key, held_by])).toEqual([
      ['1', first],
      ['2', first],
      ['3', second],
      ['4', second],
    ])
    const looks = (await ferry.asked()).map(({ look }) => look)
    expect(looks).toEqual([
      `look-at-run ${parent.run_id}`,
      `look-at-submission ${first}`,
      `look-at-submission ${second}`,
    ])
    // What is held is planned by nobody else.
    await ferry.wave(deps)
    expect(await unfinished(ferry)).toHaveLength(2)
  })

  it('a request whose task ends in Error without naming a row is found down to the one property that the service fails over, and the others are accepted', async () => {
    await using service = await poisonService((body) => body.includes('"n13."'))
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(32))
    await untilAllSettled(ferry, deps)
    const found = await outcomes(ferry, 'properties')
    expect(Object.entries(found).filter(([, outcome]) => outcome !== 'confirmed')).toEqual([
      ['H-013', 'task_error_alone'],
    ])
    const row = await ferry.ledger.row('properties', 'H-013')
    expect(row).toMatchObject({ outcome: 'rejected', outcome_reason: 'It broke. (it was sent alone)', held_by: null })
    expect(row.refused_hash).toEqual(row.desired_hash)
    expect(service.requests).toHaveLength(11)
    expect(await ferry.wave(deps)).toBe(false)
    await ferry.ledger.startRun()
    expect(await ferry.wave(deps)).toBe(false)
  })

  it('a request whose task ends in Error without naming a row that carries a single row rejects it at once', async () => {
    await using service = await poisonService(() => true)
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(1))
    await untilAllSettled(ferry, deps)
    expect(await outcomes(ferry, 'properties')).toEqual({ 'H-000': 'task_error_alone' })
    expect(service.requests).toHaveLength(1)
  })

  it('a request whose task ends in Error without naming a row is given up after six more requests when it is not the rows, and sent again by the next run', async () => {
    await using service = await poisonService(() => true)
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(64))
    await untilAllSettled(ferry, deps)
    expect(service.requests).toHaveLength(7)
    expect(new Set(Object.values(await outcomes(ferry, 'properties')))).toEqual(new Set(['task_error']))
    const { outcome_reason } = await ferry.ledger.row('properties', 'H-000')
    expect(outcome_reason).toContain('every part failed alike, so it is not the rows')
    expect(await ferry.wave(deps)).toBe(false)
    await ferry.ledger.startRun()
    expect(await ferry.wave(deps)).toBe(true)
  })

  it('a request whose task ends in Error without naming a row is split as often as push.maxSplits allows, and no more', async () => {
    await using service = await poisonService((body) => body.includes('"n13."'))
    await using given = ferry.deps(service.url)
    const deps = { ...given, config: { ...given.config, push: { ...given.config.push, maxSplits: 4 } } }
    await ferry.planned(deps, 'properties', properties(32))
    await untilAllSettled(ferry, deps)
    expect(service.requests).toHaveLength(5)
    const left = Object.entries(await outcomes(ferry, 'properties')).filter(([, outcome]) => outcome !== 'confirmed')
    expect(left).toHaveLength(8)
    expect(new Set(left.map(([, outcome]) => outcome))).toEqual(new Set(['task_error']))
  })

  const holdOwn = sql`update run set held = true`
  const holdReader = sql`
    with reader as (
      insert into run (job, trigger, scheduled_for, state, step, held)
      values ('nightly-sync', 'cli', now(), 'finished', 'report', true) returning run_id)
    insert into guard_plan (run_id, stream, reason, known, new, changed, gone, examples, state)
    select run_id, 'properties', 'empty', 4, 0, 0, 4, '[]', 'waiting' from reader`
  it.each([
    ['in a run that the guard holds', holdOwn],
    ['while the guard holds the run that read last, beside which this one only sends', holdReader],
  ])('a request whose task ends in Error without naming a row is not split %s', async (_, hold) => {
    await using service = await poisonService(() => true)
    await using deps = ferry.deps(service.url)
    const id = await ferry.planned(deps, 'properties', properties(4))
    await lookAtSubmission(deps, id)
    await hold.execute(ferry.ledger.db)
    await lookAtSubmission(deps, id)
    expect(await unfinished(ferry)).toEqual([])
    expect(new Set(Object.values(await outcomes(ferry, 'properties')))).toEqual(new Set(['task_error']))
  })

  it('leaves a row to the planner that has changed since it was sent', async () => {
    await using service = await poisonService((body) => body.includes('"n0."'))
    await using deps = ferry.deps(service.url)
    const id = await ferry.planned(deps, 'properties', properties(4))
    await lookAtSubmission(deps, id)
    await ferry.ledger.land('properties', [{ partner_id: 'H-003', content: { name: 'changed' } }])
    await untilAllSettled(ferry, deps)
    expect(await ferry.ledger.row('properties', 'H-003')).toMatchObject({ held_by: null, outcome: 'unknown' })
    expect(service.requests.slice(1).some(({ body }) => body.includes('H-003'))).toBe(false)
    expect(await outcomes(ferry, 'properties')).toMatchObject({
      'H-000': 'task_error_alone',
      'H-001': 'confirmed',
      'H-002': 'confirmed',
    })
  })

  it('a request whose task ends in Error without naming a row is settled and split in one transaction: where the halves cannot be planned, it is not settled', async () => {
    await using service = await poisonService(() => true)
    await using given = ferry.deps(service.url)
    const id = await ferry.planned(given, 'properties', properties(4))
    await lookAtSubmission(given, id)
    const broken: Deps = {
      ...given,
      looks: {
        ...given.looks,
        atRun: async () => {
          throw new Error('the queue is gone')
        },
      },
    }
    await expect(lookAtSubmission(broken, id)).rejects.toThrow('the queue is gone')
    expect((await ferry.submission(id)).state).toBe('terminal')
    expect((await ferry.ledger.row('properties', 'H-000')).held_by).toBe(id)
    expect(await unfinished(ferry)).toEqual([{ submission_id: id }])
    await lookAtSubmission(given, id)
    expect(await unfinished(ferry)).toHaveLength(2)
  })
})

describe('halves of one property', () => {
  const years = Array.from({ length: 12 }, (_, at) => String(at + 10))

  it('halves of one property are never at the service at once, and find the row all the same', async () => {
    await using service = await poisonService((body) => body.includes('"number":17'))
    await using deps = ferry.deps(service.url)
    await ferry.planned(
      deps,
      'framework_answers',
      years.map((year) => answer('H-1', year, year)),
    )
    const pick = scattered()
    // Looks come in every order, and tasks are found in progress now and then.
    await untilAllSettled(ferry, deps, () => {
      service.ending = pick() % 3 !== 0
      return pick()
    })
    expect(service.requests.map(({ openWith }) => openWith.length)).toEqual(service.requests.map(() => 0))
    const found = await outcomes(ferry, 'framework_answers')
    expect(Object.entries(found).filter(([, outcome]) => outcome !== 'inferred')).toEqual([['17', 'task_error_alone']])
  })

  it('halves of one property that stand for the same company as another property go together, or one after the other', async () => {
    await using service = await poisonService((body) => body.includes('"number":11'))
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'framework_answers', [
      ...['10', '11'].map((y) => answer('H-1', y, y)),
      ...['12', '13'].map((y) => answer('H-2', y, y)),
    ])
    const { submission_id } = await ferry.ledger.db
      .selectFrom('submission')
      .select('submission_id')
      .executeTakeFirstOrThrow()
    for (const partner_id of ['H-1', 'H-2']) {
      await ferry.ledger.db
        .insertInto('mapping')
        .values({ partner_id, company_id: ids.company, submission_id })
        .execute()
    }
    const pick = scattered()
    await untilAllSettled(ferry, deps, () => {
      service.ending = pick() % 2 === 0
      return pick()
    })
    expect(service.requests.every(({ openWith }) => openWith.length === 0)).toBe(true)
    expect(await outcomes(ferry, 'framework_answers')).toEqual({
      10: 'inferred',
      11: 'task_error_alone',
      12: 'inferred',
      13: 'inferred',
    })
  })

  it('halves of different properties may be at the service at once', async () => {
    await using service = await poisonService((body) => body.includes('"n0."'))
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(4))
    await lookAtSubmission(deps, (await unfinished(ferry))[0]?.submission_id ?? 0)
    await lookAtSubmission(deps, (await unfinished(ferry))[0]?.submission_id ?? 0)
    service.ending = false
    for (const { submission_id } of await unfinished(ferry)) await lookAtSubmission(deps, submission_id)
    expect(service.requests.map(({ openWith }) => openWith.length)).toEqual([0, 0, 1])
  })
})

describe('a request that a later run took over', () => {
  async function takenOver(deps: Deps, stream: string, rows: readonly Landing[]): Promise<number> {
    const id = await ferry.planned(deps, stream, rows)
    await lookAtSubmission(deps, id)
    const next = await ferry.ledger.startRun()
    await standAt('extract')
    await ferry.ledger.inTransaction((trx) => adoptUnfinished(trx, next, ['calculators_search']))
    return id
  }
  const standAt = async (step: string) => {
    await ferry.ledger.db.updateTable('run').set({ step }).where('state', '=', 'running').execute()
  }

  it('a request that a later run took over is not split before that run has judged what the partner has by now', async () => {
    await using service = await poisonService((body) => body.includes('"n1."'))
    await using deps = ferry.deps(service.url)
    const id = await takenOver(deps, 'properties', properties(4))
    await lookAtSubmission(deps, id)
    // Extraction lands what nobody has judged yet.
    await ferry.ledger.land('properties', [{ partner_id: 'H-003', content: { name: 'not judged' } }])
    for (const { submission_id } of await unfinished(ferry)) await lookAtSubmission(deps, submission_id)
    expect(service.requests).toHaveLength(1)
    expect((await ferry.submission(id)).state).toBe('terminal')
    await standAt('preflight')
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('terminal')
    await standAt('push')
    await ferry.wave(deps)
    await untilAllSettled(ferry, deps)
    expect(service.requests.filter(({ body }) => body.includes('not judged'))).toEqual([])
    expect(await outcomes(ferry, 'properties')).toEqual({
      'H-000': 'confirmed',
      'H-001': 'task_error_alone',
      'H-002': 'confirmed',
      'H-003': 'task_error',
    })
  })

  it('a request that a later run took over is split without the rows whose property waits for its mapping by now', async () => {
    await using service = await poisonService((body) => body.includes('1234'))
    await using deps = ferry.deps(service.url)
    const requiring: Deps = { ...deps, config: { ...deps.config, streams: { ...deps.config.streams } } }
    const answers = deps.config.streams.framework_answers
    if (answers === undefined) throw new Error('the stream is not configured')
    requiring.config.streams.framework_answers = { ...answers, requires: ['properties'] }
    const hotels = ['H-1', 'H-2', 'H-3'].map((partner_id) => ({ partner_id, content: { name: partner_id } }))
    await ferry.ledger.landChecked('properties', hotels, true)
    const id = await takenOver(requiring, 'framework_answers', [
      answer('H-1', '1', '1234'),
      answer('H-2', '2', '2'),
      answer('H-3', '3', '3'),
    ])
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-3', content: { name: 'renamed' } }])
    await standAt('push')
    await ferry.wave(requiring)
    await lookAtSubmission(requiring, id)
    const parts = await ferry.ledger.db
      .selectFrom('submission_row')
      .innerJoin('source_row', 'source_row.row_id', 'submission_row.row_id')
      .innerJoin('submission', 'submission.submission_id', 'submission_row.submission_id')
      .select('row_key')
      .where('parent_id', '=', id)
      .orderBy('row_key')
      .execute()
    expect(parts.map(({ row_key }) => row_key)).toEqual(['1', '2'])
  })

  it('a request that a later run took over is split by a run that has no stream to plan', async () => {
    await using service = await poisonService((body) => body.includes('"n1."'))
    await using deps = ferry.deps(service.url)
    const id = await takenOver(deps, 'properties', properties(2))
    const pullOnly: Deps = { ...deps, config: { ...deps.config, streams: {} } }
    await lookAtSubmission(pullOnly, id)
    expect((await ferry.submission(id)).state).toBe('terminal')
    await standAt('push')
    expect(await ferry.wave(pullOnly), 'it waits for what was taken over').toBe(true)
    await untilAllSettled(ferry, pullOnly)
    expect(await ferry.wave(pullOnly), 'and for nothing else').toBe(false)
    expect(await outcomes(ferry, 'properties')).toEqual({ 'H-000': 'confirmed', 'H-001': 'task_error_alone' })
  })
})
