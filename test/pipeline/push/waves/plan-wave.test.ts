import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Deps } from '../../../../src/pipeline/deps.ts'
import { preflight } from '../../../../src/pipeline/preflight/preflight.ts'
import { planWave } from '../../../../src/pipeline/push/waves/plan-wave.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { patience } from '../../../helpers/patience.ts'
import { openFerry } from '../ferry.ts'
import { ids, reference } from '../rows.ts'

/** Nothing is called there. */
const nowhere = 'http://127.0.0.1:9'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const property = { partner_id: 'H-1', content: { name: 'A' } }
const answer = {
  partner_id: 'H-1',
  row_key: 'a',
  content: {
    period_type: 'Yearly',
    year: '2025',
    month: '1',
    data_point_id: ids.number,
    value: '1',
    unit_id: ids.unit,
  },
}
const currentRun = () =>
  ferry.ledger.db.selectFrom('run').selectAll().where('state', '=', 'running').executeTakeFirstOrThrow()
const requiring = (deps: Deps): Deps => ({
  ...deps,
  config: {
    ...deps.config,
    streams: {
      properties: { capture: 'cursor', fullEvery: '7d', query: 'select', cursor: 'x', requires: [] },
      framework_answers: { capture: 'cursor', fullEvery: '7d', query: 'select', cursor: 'x', requires: ['properties'] },
    },
  },
})

/** A transaction on a connection of its own, rolled back at the end. */
async function blocker() {
  const client = await ferry.ledger.pool.connect()
  await client.query('begin')
  return {
    client,
    release: async () => {
      await client.query('rollback')
      client.release()
    },
  }
}

describe('a wave', () => {
  it('asks for a look at every submission that it plans, and is over when nothing is under way', async () => {
    await using deps = ferry.deps(nowhere)
    await ferry.ledger.startRun()
    expect(await ferry.wave(deps)).toBe(false)
    await ferry.ledger.landChecked('properties', [property])
    expect(await ferry.wave(deps)).toBe(true)
    const [look, ...more] = await ferry.asked()
    expect(more).toEqual([])
    const id = Number(look?.look.replace('look-at-submission ', ''))
    expect((await ferry.submission(id)).state).toBe('planned')
    expect(await ferry.wave(deps)).toBe(true)
    await ferry.ledger.settleAll(id, 'confirmed')
    expect(await ferry.wave(deps)).toBe(false)
  })

  it('a wave is planned once by two looks of which one has lost its lock', async () => {
    await using deps = ferry.deps(nowhere)
    await ferry.ledger.startRun()
    await ferry.ledger.landChecked('properties', [property])
    const { client, release } = await blocker()
    await client.query('lock table held_property in exclusive mode')
    const waves = Promise.all([ferry.wave(deps), ferry.wave(deps)])
    await vi.waitFor(async () => {
      const { rows } = await ferry.ledger.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      expect(rows).toHaveLength(2)
    }, patience)
    await release()
    await waves
    const held = await ferry.ledger.db.selectFrom('submission_row').select('row_id').execute()
    expect(held).toHaveLength(1)
  })

  it('plans nothing for a run that has ended', async () => {
    await using deps = ferry.deps(nowhere)
    await ferry.ledger.startRun()
    await ferry.ledger.landChecked('properties', [property])
    const run = await currentRun()
    await ferry.ledger.db.updateTable('run').set({ state: 'failed' }).execute()
    await planWave(deps, run)
    expect(await ferry.ledger.db.selectFrom('submission').selectAll().execute()).toEqual([])
  })

  it('lets dependent rows out once what they require was accepted, and keeps them when it was not', async () => {
    await using plain = ferry.deps(nowhere)
    const deps = requiring(plain)
    for (const [outcome, goesOn] of [
      ['rejected', false],
      ['confirmed', true],
    ] as const) {
      await ferry.clear()
      await ferry.ledger.landChecked('framework_answers', [answer])
      const id = await ferry.planned(deps, 'properties', [property])
      await ferry.ledger.settleAll(id, outcome)
      expect(await ferry.wave(deps)).toBe(goesOn)
    }
  })

  it('a wave of a run of single streams leaves a hotel alone of which another stream of the kind is in flight', async () => {
    await using plain = ferry.deps(nowhere)
    const stream = { capture: 'cursor', fullEvery: '7d', query: 'select', cursor: 'x' } as const
    const both: Deps = {
      ...plain,
      config: { ...plain.config, streams: { framework_answers: stream, omissions: stream } },
    }
    const omission = {
      ...answer,
      row_key: 'o',
      content: { period_type: 'Yearly', year: '2025', question_id: ids.question },
    }
    const inFlight = await ferry.planned(both, 'omissions', [omission])
    await ferry.ledger.markSent(inFlight)
    const twin = { ...answer, partner_id: 'H-2', row_key: 'twin' }
    const partner_ids = ['H-1', 'H-2']
    await ferry.ledger.db
      .insertInto('mapping')
      .values(partner_ids.map((partner_id) => ({ partner_id, company_id: ids.company, submission_id: inFlight })))
      .execute()
    await ferry.ledger.landChecked('framework_answers', [answer, twin])
    await ferry.ledger.startRun()
    const asked = { streams: ['framework_answers'] }
    await ferry.ledger.db.updateTable('run').set({ asked }).where('state', '=', 'running').execute()
    const { omissions: _, ...older } = both.config.streams
    for (const deps of [both, { ...both, config: { ...both.config, streams: older } }]) {
      await ferry.wave(deps)
      expect(await ferry.ledger.db.selectFrom('submission').select('submission_id').execute()).toEqual([
        { submission_id: inFlight },
      ])
    }
  })

  it('leaves the run waiting when the last submission settles while the wave is planned', async () => {
    await using plain = ferry.deps(nowhere)
    const deps = requiring(plain)
    await ferry.ledger.landChecked('framework_answers', [answer])
    const id = await ferry.planned(deps, 'properties', [property])
    let kindsPlanned = 0
    const settledMeanwhile: Deps = {
      ...deps,
      looks: {
        ...deps.looks,
        atSubmissions: async (...look) => {
          kindsPlanned += 1
          await deps.looks.atSubmissions(...look)
          if (kindsPlanned === 2) await ferry.ledger.settleAll(id, 'confirmed')
        },
      },
    }
    expect(await planWave(settledMeanwhile, await currentRun())).toBe(true)
    expect(kindsPlanned).toBe(2)
    expect(await ferry.ledger.db.selectFrom('submission').selectAll().where('state', '=', 'planned').execute()).toEqual(
      [],
    )
    expect(await ferry.wave(deps)).toBe(true)
  })
})

describe('preflight', () => {
  const invalid = { ...answer, row_key: 'b', content: { ...answer.content, value: 'many' } }
  const check = async (deps: Deps) => preflight(deps, await currentRun())
  const reasons = async () => {
    const rows = await ferry.ledger.db.selectFrom('ledger').selectAll().orderBy('row_key').execute()
    return rows.map(({ row_key, invalid_reason, checked_hash, desired_hash }) => [
      row_key,
      invalid_reason,
      checked_hash?.equals(desired_hash) ?? false,
    ])
  }
  const knowFramework = async () => {
    await ferry.ledger.db
      .insertInto('reference_version')
      .values({ version: 1, fetched_at: ferry.clock.at, confirmed_at: ferry.clock.at, documents: 1, changes: 1 })
      .execute()
    await ferry.ledger.db
      .insertInto('reference_data')
      .values({
        kind: 'framework',
        id: ids.framework,
        document: JSON.stringify({
          id: ids.framework,
          dataPoints: [...reference.dataPoints.values()],
          questionIds: [...reference.questionIds],
        }),
        fetched_at: ferry.clock.at,
        changed_at: ferry.clock.at,
      })
      .execute()
  }

  it('judges every pending row against the reference data that are stored', async () => {
    await using deps = ferry.deps(nowhere)
    await ferry.ledger.startRun()
    await knowFramework()
    await ferry.ledger.land('framework_answers', [answer, invalid])
    await check(deps)
    expect(await reasons()).toEqual([
      ['a', null, true],
      ['b', "'many' is no number", true],
    ])
    await ferry.wave(deps)
    expect((await ferry.ledger.row('framework_answers', 'b')).held_by).toBeNull()
  })

  it('judges an invalid row again, because the reference data may have changed', async () => {
    await using deps = ferry.deps(nowhere)
    await ferry.ledger.startRun()
    await ferry.ledger.land('framework_answers', [answer])
    await check(deps)
    expect(await reasons()).toEqual([['a', expect.stringContaining('value_type is null'), true]])
    await ferry.ledger.startRun()
    await knowFramework()
    await check(deps)
    expect(await reasons()).toEqual([['a', null, true]])
  })

  it('does not write rows that are judged as before', async () => {
    await using deps = ferry.deps(nowhere)
    await ferry.ledger.startRun()
    await ferry.ledger.land('framework_answers', [answer, invalid])
    await check(deps)
    const versions = async () =>
      (
        await ferry.ledger.pool.query(
          `select row.xmin, took.xmin as took_xmin from source_row row join acceptance took using (row_id) order by row_id`,
        )
      ).rows
    const before = await versions()
    await check(deps)
    expect(await versions()).toEqual(before)
  })

  it('judges what became of a row in flight, which is sent as soon as it is free', async () => {
    await using deps = ferry.deps(nowhere)
    const id = await ferry.planned(deps, 'properties', [property])
    await ferry.ledger.markSent(id)
    await ferry.ledger.land('properties', [{ ...property, content: { name: 'B' } }])
    await check(deps)
    await ferry.ledger.settleAll(id, 'confirmed')
    expect(await ferry.wave(deps)).toBe(true)
  })

  it('judges more rows than it holds at a time', async () => {
    await using deps = ferry.deps(nowhere)
    await ferry.ledger.startRun()
    const many = Array.from({ length: 4_500 }, (_, index) => ({ ...property, partner_id: `H-${index}` }))
    await ferry.ledger.land('properties', many)
    await check(deps)
    expect((await reasons()).filter(([, , checked]) => checked)).toHaveLength(4_500)
  })
})
