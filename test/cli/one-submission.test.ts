import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { runVerb } from '../../src/cli/start.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { keepReceivedBodies, receivedBody } from '../helpers/received-bodies.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, nightferryProcess, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 3 }))
const folder = await ofThisFile(workingFolder())

const call = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())

type Sent = { submission_id: number; kind: string; correlation_id: string }
let sent: Sent[] = []

const received = (correlationId: string) => receivedBody(world.sandboxPool, correlationId)

beforeAll(async () => {
  await keepReceivedBodies(world.sandboxPool)
  expect(await call('run', 'nightly-sync')).toMatchObject({ code: 0 })
  const { rows } = await world.pool.query<Sent>(
    'select submission_id, kind, correlation_id from submission order by submission_id',
  )
  sent = rows
})

test('submissions --body prints, byte for byte, what the request log of the service leads to', async () => {
  for (const { submission_id, correlation_id } of some(sent)) {
    const { code, stdout, stderr } = await call('submissions', String(submission_id), '--body')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(Buffer.from(stdout).equals(await received(correlation_id))).toBe(true)
  }
  const [first] = sent
  const args = ['submissions', String(first?.submission_id), '--body', '--config', demoConfig]
  const { code, stdout } = await nightferryProcess(folder.path, args, world.environment())
  expect(code).toBe(0)
  expect(stdout).toBe((await received(first?.correlation_id ?? '')).toString())
})

test('submissions --body --partner-id prints the elements of one hotel as a list', async () => {
  const upsert = sent.find(({ kind }) => kind === 'calculators')
  const no = String(upsert?.submission_id)
  const { code, stdout } = await call('submissions', no, '--body', '--partner-id', 'H-0002')
  expect(code).toBe(0)
  const body = JSON.parse((await received(upsert?.correlation_id ?? '')).toString()) as { companies: object[] }
  const elements = JSON.parse(stdout) as object[]
  expect(elements).toHaveLength(1)
  expect(body.companies).toContainEqual(elements[0])
  expect(JSON.stringify(elements)).toContain('"H-0002"')
  const unknown = await call('submissions', no, '--body', '--partner-id', 'h-0002')
  expect(unknown).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Was H-0002 meant?') })
  const search = sent.find(({ kind }) => kind === 'calculators_search')
  const refused = await call('submissions', String(search?.submission_id), '--body', '--partner-id', 'H-0002')
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('is a search') })
})

test('submissions with a number lists the rows that the request carried, with what became of each', async () => {
  const [mappings] = sent
  const no = String(mappings?.submission_id)
  const { stdout } = await call('submissions', no)
  expect(stdout).toMatch(/^no +kind +state .*\n─.*\n +1 +company_mappings +settled /)
  expect(stdout).toMatch(/\n\nhotel +stream +row +outcome .*\n─.*\nH-0001 +properties .* confirmed .* as sent\n/)
  const { carried, ...request } = JSON.parse((await call('submissions', no, '--json')).stdout) as { carried: object[] }
  expect(request).toMatchObject({ submission_id: 1, run_id: 1, kind: 'company_mappings', rows: 3, confirmed: 3 })
  const row = { stream: 'properties', outcome: 'confirmed', code: null, reason: null, unchanged: true }
  expect(carried).toEqual(
    ['H-0001', 'H-0002', 'H-0003'].map((partner_id) => ({
      ...row,
      partner_id,
      row_key: expect.any(String),
      sent_hash: expect.stringMatching(/^[0-9a-f]{32,}$/),
    })),
  )
  const cut = await call('submissions', no, '--csv', '--limit', '1')
  expect(cut.stdout).toMatch(/^partner_id,stream,[^\r]*\r\nH-0001,properties,[^\r]*\r\n$/)
  expect(cut.stderr).toBe('The first 1 rows; --limit shows more.\n')
  const one = await call('submissions', no, '--partner-id', 'H-0003', '--csv')
  expect(one.stdout.split('\r\n')).toHaveLength(3)
  const otherwise = some([['--body'], ['--csv'], ['--partner-id', 'H-0001']])
  for (const flags of otherwise) {
    expect(await call('submissions', ...flags)).toMatchObject({ code: 2, stderr: expect.stringContaining('<number>') })
  }
  expect(await call('submissions', no, '--run', '1')).toMatchObject({ code: 2 })
  expect(await call('submissions', '4711')).toMatchObject({ code: 2, stderr: expect.stringContaining('4711') })
})

test('submissions --body says why there is none: no such request, not sent yet, removed by housekeeping', async () => {
  const refused = async (id: number | string) => {
    const { code, stdout, stderr } = await call('submissions', String(id), '--body')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    return stderr
  }
  expect(await refused(4711)).toMatch(/submission_unknown: There is no submission 4711/)
  const { rows } = await world.pool.query<{ submission_id: string }>(`
    insert into submission (run_id, kind, state, row_count) values (1, 'companies', 'planned', 1) returning submission_id`)
  const planned = rows[0]?.submission_id ?? ''
  expect(await refused(planned)).toMatch(/body_unwritten: .* \(companies, planned\): it is written when/)
  await world.pool.query(
    'delete from submission_payload where submission_id = 1; delete from submission_row where submission_id = 1',
  )
  expect(await refused(1)).toMatch(/body_removed: .* is not kept any more: housekeeping .*push.keepPayloadsDays \(90\)/)
  expect((await call('submissions', '1')).stdout).toContain(
    'None of its 3 rows is known any more.\nIt carried 3 more rows, of which nothing is kept (housekeeping.keepRunsDays).',
  )
})

test('a body that is damaged is no body: what came of it is said not to be whole', async () => {
  await world.pool.query(`update submission_payload set piece = substring(piece for 40) where submission_id = 2`)
  const { code, stderr } = await call('submissions', '2', '--body')
  expect(code).toBe(1)
  expect(stderr).toMatch(/body_damaged: What is stored of the body of submission 2 .*What was read before is not whole/)
})

test('a body on a terminal is the same JSON, with what could drive the terminal escaped', async () => {
  const body = '{"companies":[{"id":"H-0001","name":"a\u009b1mb\u202ec"}]}'
  await world.pool.query('update submission_payload set piece = $1 where submission_id = 2', [gzipSync(body)])
  const stdout = Object.assign(new PassThrough(), { isTTY: true })
  const code = await runVerb(
    {
      environment: world.environment(),
      workingFolder: folder.path,
      stdout,
      stderr: new PassThrough(),
      signal: new AbortController().signal,
      now: () => new Date(),
    },
    ['submissions', '2', '--body', '--config', demoConfig],
  )
  stdout.end()
  const shown = await text(stdout)
  expect({ code, shown }).toEqual({
    code: 0,
    shown: '{"companies":[{"id":"H-0001","name":"a\\u009b1mb\\u202ec"}]}\n',
  })
  expect(JSON.parse(shown)).toEqual(JSON.parse(body))
})
