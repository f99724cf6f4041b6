import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bodyOf, company, samplePage } from '../pipeline/pull/sample-page.ts'
import { searchDatabase } from '../pipeline/pull/search-database.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

// Each verb is a process of its own.
vi.setConfig({ testTimeout: 240_000 })

const hotels = (over: object = {}) =>
  samplePage(
    ['A', 'B', 'C'].map((name) => {
      const one = company(name)
      return { ...one, calculators: one.calculators.map((k) => ({ ...k, ...over })) }
    }),
  )

test('restore says of how many property values others have the places', async () => {
  const database = await searchDatabase()
  onTestFinished(() => database[Symbol.asyncDispose]())
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  for (const brand of [
    ['a', 'b', 'c'],
    ['a', 'c'],
  ]) {
    const [listed] = await database.search()
    if (listed === undefined) throw new Error('no page was listed')
    await database.load(listed, bodyOf(samplePage([company('A', { fields: { brand } })])))
    await database.finish(listed.submission_id)
  }
  await database.db.updateTable('run').set({ state: 'finished' }).execute()
  const taken = '1 property value is kept and cannot come back: others stand in its place'
  for (const how of [['--dry-run'], []]) {
    const said = await nightferry(folder.path, ['restore', '--all', ...how], { DATABASE_URL: database.url })
    expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining(taken) })
  }
})

test('restore --run says how much stays removed because a later run removed the rest', async () => {
  await using database = await searchDatabase()
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  for (const companies of [
    [company('A', { fields: { brand: ['a'] } })],
    [company('A', { fields: { brand: ['a'] }, calculators: [] })],
    [],
  ]) {
    const [listed] = await database.search()
    if (listed === undefined) throw new Error('no page was listed')
    await database.load(listed, bodyOf(samplePage(companies)), { minSeenShare: 0 })
    await database.finish(listed.submission_id, { minSeenShare: 0 })
  }
  await sql`
    with later as (
      insert into run (job, trigger, scheduled_for, state, step)
      values ('test', 'cli', '2026-01-01', 'finished', 'done') returning run_id
    )
    update submission set run_id = later.run_id from later
    where submission_id = (select max(submission_id) from submission)`.execute(database.db)
  await database.db.updateTable('run').set({ state: 'finished' }).execute()
  const { run_id } = await database.db
    .selectFrom('run')
    .select((of) => of.fn.min('run_id').as('run_id'))
    .executeTakeFirstOrThrow()
  const left = '2 values of this run stay removed: a later run removed the rest of their calculator or company.'
  for (const how of [['--dry-run'], []]) {
    const args = ['restore', '--run', String(run_id), ...how]
    const said = await nightferry(folder.path, args, { DATABASE_URL: database.url })
    expect(said).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Nothing like that can be brought back/) })
    expect(said.stdout).toContain(left)
  }
})

test('a person sees what is withheld, lets it go, and brings it back', async () => {
  const database = await searchDatabase()
  onTestFinished(() => database[Symbol.asyncDispose]())
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  const call = (...args: string[]) => nightferry(folder.path, args, { DATABASE_URL: database.url })
  const night = async (page: unknown) => {
    const [listed] = await database.search()
    if (listed === undefined) throw new Error('no page was listed')
    await database.load(listed, bodyOf(page))
    await database.finish(listed.submission_id)
  }
  const values = async () => (await database.db.selectFrom('calculator_values').selectAll().execute()).length

  await night(hotels())
  await night(hotels({ outputs: undefined }))
  expect(await values()).toBe(6)
  expect((await call('status')).stdout).toMatch(/3 values not renewed since .+ UTC: too_few_outputs\./)
  expect(JSON.parse((await call('status', '--json')).stdout)).toMatchObject({
    not_renewed: [{ part: 'value', reason: 'too_few_outputs', withheld: true, parts: 3 }],
  })

  await database.db.updateTable('run').set({ state: 'finished' }).execute()
  expect(await call('accept-removals')).toMatchObject({ code: 2 })
  const shown = await call('accept-removals', '--dry-run')
  expect(shown.stdout).toMatch(/3 values .+too_few_outputs[\s\S]+Nothing was removed/)
  expect(await values()).toBe(6)

  const accepted = await call('accept-removals', '--all')
  expect(accepted).toMatchObject({ code: 0 })
  expect(accepted.stdout).toContain('3 values')
  expect(await values()).toBe(3)
  expect((await call('accept-removals', '--all')).stdout).toContain('No removal like that is withheld')

  expect(await call('restore')).toMatchObject({ code: 2 })
  expect((await call('restore', '--all', '--dry-run')).stdout).toContain('3 values and 0 property values')
  expect((await call('restore', '--since', '1h')).stdout).toContain('Brought back: 3 values')
  expect(await values()).toBe(6)
  expect((await call('restore', '--all')).stdout).toContain('Nothing like that can be brought back')
  const verbs = await database.db.selectFrom('action').select(['verb', 'rows']).orderBy('action_id').execute()
  expect(verbs).toEqual([
    { verb: 'accept-removals', rows: 3 },
    { verb: 'restore', rows: 3 },
  ])

  await database.db
    .updateTable('run')
    .set({ state: 'running' })
    .where('run_id', '=', (eb) => eb.selectFrom('run').select((one) => one.fn.max('run_id').as('newest')))
    .execute()
  for (const verb of ['accept-removals', 'restore']) {
    const refused = await call(verb, '--all')
    expect(refused).toMatchObject({ code: 2 })
    expect(refused.stderr).toContain('is under way')
  }
})
