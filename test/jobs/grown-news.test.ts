import { expect, it } from 'vitest'
import type { RunAsked } from '../../src/db/tables/run-tables.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { expectNews, tellNews } from '../../src/jobs/tell-news.ts'
import { json, refusal, type ScriptedService, service } from '../pipeline/push/service.ts'
import { bodies, depsFor, ended, ferry, hook, stored, withNews } from './news-world.ts'

withNews()

const counts = {
  ...{ sent: 0, confirmed: 0, inferred: 0, rejected: 0, invalid: 0, unknown: 0 },
  ...{ withheld: 0, parked: 0, held: 0, behind: 0, awaited: 0 },
}

/** A night that ended with so many rows that were rejected and invalid. */
async function night(rejected: number, invalid = 0, asked: RunAsked = {}): Promise<number> {
  const run = await ended('partial', undefined, asked)
  const remarks = [
    `${rejected} rows rejected by the service.`,
    ...(invalid > 0 ? [`${invalid} rows invalid, and not sent.`] : []),
  ]
  const report = JSON.stringify({
    remarks,
    streams: [{ ...counts, rejected, invalid }],
    held: [],
    duration_ms: 1,
  })
  await ferry.ledger.db.updateTable('run').set({ report }).where('run_id', '=', run).execute()
  return run
}

const told = (server: ScriptedService) => bodies(server).map(({ run_id }) => run_id)

it('a small trouble that was told keeps a catastrophe of the same kinds from nobody', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server)
  await expectNews(deps, nightlySync)
  const first = await night(3, 1)
  await tellNews(deps, nightlySync)
  await night(5, 1)
  await tellNews(deps, nightlySync)
  expect(told(server)).toEqual([first])
  const second = await night(48_211, 9_004)
  await tellNews(deps, nightlySync)
  expect(told(server)).toEqual([first, second])
  expect(bodies(server).at(-1)?.sentence).toContain(
    'It grew: from 3 to 48,211 rows rejected by the service; from 1 to 9,004 rows invalid, and not sent.',
  )
  await night(48_300, 9_004)
  await tellNews(deps, nightlySync)
  expect(told(server)).toEqual([first, second])
})

it('a trouble that has shrunk is told again as it grows, and one that grows slowly once it is twice as large', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server)
  await expectNews(deps, nightlySync)
  const runs: number[] = []
  for (const rejected of [1_000, 4, 40, 60, 79, 80]) {
    runs.push(await night(rejected))
    await tellNews(deps, nightlySync)
  }
  expect(told(server)).toEqual([runs[0], runs[2], runs[5]])
  expect(bodies(server).map(({ sentence }) => /It grew: [^.]*/.exec(sentence)?.[0])).toEqual([
    undefined,
    'It grew: from 4 to 40 rows rejected by the service',
    'It grew: from 40 to 80 rows rejected by the service',
  ])
})

it('a part of a night that finds less says nothing of how much there is', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server)
  await expectNews(deps, nightlySync)
  for (const asked of [{}, { streams: ['properties'] }, {}]) {
    await night('streams' in asked ? 1 : 1_000, 0, asked)
    await tellNews(deps, nightlySync)
  }
  expect(bodies(server)).toHaveLength(1)
  expect(await stored()).toMatchObject([{ amounts: { rejected: 1_000 } }])
})

it('a trouble that grew while its receiver took nothing is told with what grew since the last message', async () => {
  await using server = await service({ [hook]: [json({}), refusal(500), json({})] })
  const deps = depsFor(server)
  await expectNews(deps, nightlySync)
  await night(3)
  await tellNews(deps, nightlySync)
  await night(400)
  await tellNews(deps, nightlySync)
  const newest = await night(900)
  await tellNews(deps, nightlySync)
  ferry.clock.pass(3_600_000)
  await tellNews(deps, nightlySync)
  expect(bodies(server).at(-1)).toMatchObject({
    run_id: newest,
    sentence: expect.stringContaining('from 3 to 900 rows'),
  })
  await night(1_000)
  await tellNews(deps, nightlySync)
  expect(await stored()).toMatchObject([{}, { run_id: newest, amounts: { rejected: 900 } }])
})

it('a trouble that comes back after it was over is told as new, however large it was before', async () => {
  await using server = await service({ [hook]: [json({})] })
  const deps = depsFor(server)
  await expectNews(deps, nightlySync)
  await night(3)
  await ended('succeeded')
  await night(4_000)
  await tellNews(deps, nightlySync)
  expect(bodies(server).map(({ event }) => event)).toEqual(['partial', 'recovered', 'partial'])
  expect(bodies(server).at(-1)?.sentence).not.toContain('It grew')
})
