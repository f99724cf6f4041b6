import { userInfo } from 'node:os'
import { beforeAll, expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 2 }))
const folder = await ofThisFile(workingFolder())

const call = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())

type Listed = { action_id: number; verb: string; acted_by: string; asked: Record<string, string>; result: string }

async function listed(...args: string[]): Promise<Listed[]> {
  const { code, stdout, stderr } = await call('actions', '--json', ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as Listed[]
}
const verbsOf = async (...args: string[]) => (await listed(...args)).map(({ verb }) => verb)

beforeAll(async () => {
  expect(await call('run', 'nightly-sync')).toMatchObject({ code: 0 })
  expect((await call('actions')).stdout).toBe('Nobody did anything by hand.\n')
  for (const args of [
    ['jobs', 'pause', 'nightly-sync', '--reason', '=a move;"of" the house'],
    ['jobs', 'resume', 'nightly-sync'],
    ['resend', '--partner-id', 'H-0001', '--stream', 'properties', '--beyond-guard'],
    ['reread', 'calculator_inputs'],
  ]) {
    expect(await call(...args), args.join(' ')).toMatchObject({ code: 0 })
  }
  await world.pool.query(`
    insert into action (verb, acted_by, host, acted_at, submission_id, correlation_id, rows)
      select 'cancel', 'Ann', 'desk', now() - interval '9 days', submission_id, correlation_id, 2 from submission
      where submission_id = 1`)
})

test('actions lists who did what, when, on what and why, newest first', async () => {
  const all = await listed()
  expect(all.map(({ verb }) => verb)).toEqual(['cancel', 'reread', 'resend', 'resume', 'pause'])
  expect(all.at(-1)).toEqual({
    action_id: 1,
    verb: 'pause',
    acted_by: userInfo().username,
    host: expect.stringMatching(/./),
    acted_at: expect.stringMatching(/^20/),
    submission_id: null,
    correlation_id: null,
    rows: 0,
    asked: { job: 'nightly-sync', reason: '=a move;"of" the house' },
    result: 'paused',
  })
  const { stdout } = await call('actions', '--limit', '2')
  expect(stdout).toMatch(
    /^no +at \(UTC\) +by +from +verb +submission +rows +asked +result\n─.*\n +5 .* Ann +desk +cancel +1 +2 +– +–\n/,
  )
  expect(stdout).toContain('The newest 2; --limit shows more.')
})

test('actions can be narrowed down by verb, object and time', async () => {
  expect(await verbsOf('--verb', 'pause')).toEqual(['pause'])
  expect(await verbsOf('--job', 'nightly-sync')).toEqual(['resume', 'pause'])
  expect(await verbsOf('--stream', 'calculator_inputs')).toEqual(['reread'])
  expect(await verbsOf('--partner-id', 'H-0001')).toEqual(['cancel', 'resend'])
  expect(await verbsOf('--partner-id', 'H-0002'), 'by the request that carried it').toEqual(['cancel'])
  expect(await verbsOf('--submission', '1')).toEqual(['cancel'])
  expect(await verbsOf('--run', '1')).toEqual(['cancel'])
  expect(await verbsOf('--run', '2')).toEqual([])
  expect(await verbsOf('--since', '2d')).toEqual(['reread', 'resend', 'resume', 'pause'])
  expect(await verbsOf('--since', '2d', '--job', 'nightly-sync', '--verb', 'resume')).toEqual(['resume'])
  expect((await call('actions', '--verb', 'restore')).stdout).toMatch(/^Nothing that people did is so; /)
  const misspelt = await call('actions', '--verb', 'puase')
  expect(misspelt).toMatchObject({ code: 2, stderr: expect.stringContaining('retry, abandon, adopt') })
  expect(await call('actions', '--stream', 'hotels')).toMatchObject({ code: 2 })
  expect(await call('actions', '--partner-id', 'h-0001')).toMatchObject({ code: 2 })
})

test('actions, drift and sql print CSV in which no cell begins a formula', async () => {
  const actions = (await call('actions', '--csv', '--verb', 'pause')).stdout
  expect(actions).toMatch(
    /^action_id,acted_at,acted_by,host,verb,submission_id,correlation_id,rows,asked,result\r\n1,20/,
  )
  expect(actions).toContain('"{""job"":""nightly-sync"",""reason"":""=a move;\\""of\\"" the house""}",paused\r\n')

  await world.pool.query(`
    update source_row set gone_at = '2026-11-20T01:02:03Z' where stream = 'calculator_settings' and partner_id = 'H-0001'`)
  const drift = (await call('drift', '--csv')).stdout.split('\r\n')
  expect(drift[0]).toBe('partner_id,stream,row_key,row,why,company_id,outcome,accepted_at,gone_since')
  expect(drift[1]).toMatch(/^H-0001,calculator_settings,.*,gone,[0-9a-f-]{36},\w+,20[^,]*Z,2026-11-20T01:02:03.000Z$/)

  const query = `select 1 as one, null as nothing, '=1+1' as "@formula", 'a,"b"' as text, 'x;+1' as within, '-5' as number`
  expect(await call('sql', '--csv', query)).toEqual({
    code: 0,
    signal: null,
    stdout: `one,nothing,'@formula,text,within,number\r\n1,,'=1+1,"a,""b""",x;'+1,-5\r\n`,
    stderr: '',
  })
  for (const args of [['actions'], ['drift'], ['sql', 'select 1']]) {
    expect(await call(...args, '--csv', '--json')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('choose one'),
    })
  }
})
