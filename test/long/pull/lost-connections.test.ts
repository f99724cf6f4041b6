import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { nightferry, start } from '../../cli/nightferry-process.ts'
import { type PullWorld, type Sample, sampleColumns, startPullWorld, versionOf } from '../../helpers/pull-world.ts'

test('a load whose connections are ended by the server again and again completes, and no page is torn', async () => {
  await using world = await startPullWorld({ pages: 10, companiesPerPage: 20 })
  await world.write(() => 1)
  const first = await nightferry(world.folder, ['run', 'nightly-sync', ...world.options], world.environment)
  expect(first, first.stderr).toMatchObject({ code: 0 })
  let struck = 0
  let version = 1
  // A load may be over before it was struck often: then another night comes.
  while (struck <= 5 && version < 10) {
    version += 1
    await world.write(() => version)
    struck += await nightUnderStrikes(world)
    const { rows } = await world.pool.query<Sample>(`select ${sampleColumns} from companies c`)
    expect(rows.map(versionOf)).toEqual(world.companyIds.map(() => version))
  }
  expect(struck).toBeGreaterThan(5)
}, 300_000)

/** One night in which a backend of ours is ended every 50 to 500 ms while pages are loaded; how often that was. */
async function nightUnderStrikes(world: PullWorld): Promise<number> {
  const { ended, child } = start(world.folder, ['run', 'nightly-sync', ...world.options], world.environment)
  let struck = 0
  const samples: Sample[] = []
  for (let at = 0; child.exitCode === null && child.signalCode === null; at += 1) {
    const { rows } = await world.pool.query<{ struck: boolean }>(
      `select pg_terminate_backend(pid) as struck from pg_stat_activity
       where datname = current_database() and application_name = 'nightferry'
         and exists (select from search_page where submission_id = (select max(submission_id) from submission)
                     and state = 'listed' and submission_id in (select submission_id from submission join run using (run_id) where run.state = 'running'))
       order by md5(pid::text || $1) limit 1`,
      [String(at)],
    )
    struck += rows.length
    samples.push(...(await world.pool.query<Sample>(`select ${sampleColumns} from companies c`)).rows)
    await pause(50 + ((at * 97) % 450))
  }
  const run = await ended
  expect(run, run.stderr).toMatchObject({ code: 0 })
  expect(samples.filter((sample) => versionOf(sample) === null)).toEqual([])
  return struck
}
