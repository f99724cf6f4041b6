import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { judgeCertificate, judgeFile, secretsIn, secretVariables } from '../../src/doctor/configuration-checks.ts'
import { judgeReceiver, judgeRefusals, judgeRoundTrip } from '../../src/doctor/delivery-checks.ts'
import { checks, examine } from '../../src/doctor/examine.ts'
import { judgeClock } from '../../src/doctor/exchange-checks.ts'
import {
  judgeConnections,
  judgeCopy,
  judgeDisk,
  judgeOwnRights,
  judgeServer,
  judgeTables,
} from '../../src/doctor/judge-own-database.ts'
import { judgeLastRuns, judgeMissed, judgeSchedules } from '../../src/doctor/judge-schedule.ts'
import { judgeDestination, judgeItems, keyTrouble } from '../../src/doctor/judge-service.ts'
import { judgeCursor, judgeProtection, judgeRights } from '../../src/doctor/partner-checks.ts'
import { CannotLook, type Check, groups, ok, on, type Ward, worst } from '../../src/doctor/ward.ts'
import { nextOccurrence } from '../../src/jobs/due-occurrence.ts'
import { searchesBy } from '../../src/partner/postgres-cursor.ts'
import { workingFolder } from '../cli/nightferry-process.ts'
import { firstCells, readPage, section } from '../docs/pages.ts'
import { writeCertificate } from '../helpers/write-certificate.ts'

const ward = {} as Ward
/** What a call throws. */
function caught(call: () => unknown): Error {
  try {
    call()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}
const check = (run: Check['run']): Check => ({ id: 'one', group: 'service', why: 'it matters', run })

describe('the examination', () => {
  test('a check that throws is a warning, and the next one is made', async () => {
    const broken = check(async () => {
      throw new Error('the disk is on fire')
    })
    const found = await examine([broken, check(async () => [ok('well')])], ward)
    expect(found.map(({ level, made, what }) => [level, made, what])).toEqual([
      ['warning', false, 'not looked at: the disk is on fire'],
      ['ok', true, 'well'],
    ])
  })
  test('a check that does not end is given up in its time', async () => {
    const endless = check(() => delay(60_000, [ok('late')], { ref: false }))
    const found = await examine([endless], ward, { patience: 20 })
    expect(found).toMatchObject([{ made: false, what: 'not looked at: it took longer than 0.02 s', why: 'it matters' }])
  })
  test('what keeps a part from being had is told by its own check, and named by the others', async () => {
    const down = () => Promise.reject(new Error('secret words'))
    await expect(on(down, 'partner_reached')).rejects.toThrow('see partner_reached')
    const deeper = () => Promise.reject(new CannotLook('see configuration'))
    await expect(on(deeper, 'partner_reached')).rejects.toThrow('see configuration')
  })
  test('the worst level counts', () => {
    expect(worst([{ level: 'advice' }, { level: 'error' }, { level: 'ok' }])).toBe('error')
    expect(worst([])).toBe('ok')
  })
})

describe('webhooks', () => {
  const now = Date.now()
  /** Tasks that ended so many seconds ago, each told of so many seconds after its end, or never. */
  const tasks = (...told: (number | null)[]) =>
    told.map((seconds, index) => {
      const terminal_at = new Date(now - 3_600_000 - index)
      const told_at = seconds === null ? null : new Date(terminal_at.getTime() + seconds * 1000)
      return {
        submission_id: index,
        kind: 'companies',
        correlation_id: `${index}`,
        terminal_at,
        told_at,
        since_ms: 3_600_000,
      }
    })
  test('the judgement expects nothing of webhooks without a secret, and a receiver with one', () => {
    const standing = { since: new Date(now), heard_at: new Date(now), listening: true }
    expect(judgeReceiver(false, undefined)).toMatchObject([{ level: 'ok' }])
    expect(judgeReceiver(true, standing)).toMatchObject([{ level: 'ok' }])
    expect(judgeReceiver(true, { ...standing, listening: false })).toMatchObject([{ level: 'warning' }])
    expect(judgeReceiver(true, undefined)).toMatchObject([{ level: 'warning' }])
  })
  test.each([
    ['no task and no test is advice to press Test', tasks(), null, 'advice', 'nothing shows'],
    ['no task and a test that arrived is well', tasks(), new Date(now), 'ok', 'arrived'],
    ['tasks that were told of in time are well', tasks(1, 2, 3), null, 'ok', 'within 3 s'],
    ['tasks of which none was told are a warning', tasks(null, null), null, 'warning', '2 not at all'],
    ['tasks of which none was told although the test arrived say so', tasks(null), new Date(now), 'warning', 'arrived'],
    ['one task in many that was told late is well', tasks(1, 1, 300), null, 'ok', '1 late'],
    ['several that were told late are a warning', tasks(1, 300, 300), null, 'warning', '2 late'],
  ] as const)('the judgement of a round trip knows that %s', (_, ended, tested, level, words) => {
    const found = judgeRoundTrip(ended, tested)
    expect(found).toMatchObject([{ level }])
    expect(found[0]?.what).toContain(words)
  })
  test('deliveries that strangers may have sent are advice, and a wrong secret is a warning', () => {
    expect(judgeRefusals([], 7)).toMatchObject([{ level: 'ok' }])
    const refused = [
      { reason: 'header_missing', refused: 3 },
      { reason: 'signature_mismatch', refused: 1 },
    ]
    expect(judgeRefusals(refused, 7)).toMatchObject([
      { level: 'advice', subject: 'header_missing' },
      { level: 'warning', subject: 'signature_mismatch' },
    ])
  })
})

test('a secret that YAML takes for a tag comes out in no warning of the parser', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
  onTestFinished(() => warned.mockRestore())
  expect(secretsIn('exchange: { apiKey: !planted text }')).toEqual(['exchange.apiKey'])
  expect(warned).not.toHaveBeenCalled()
})

test('a list of secrets in the configuration file is seen, and a file behind any variable of a secret is looked at', () => {
  expect(secretsIn('webhooks: { secrets: [whsec_abc] }')).toEqual(['webhooks.secrets'])
  expect(secretsIn(`webhooks: { secrets: ["\${OURS}"] }`)).toEqual([])
  expect(secretVariables()).toEqual(
    expect.arrayContaining([
      'EXCHANGE_API_KEY',
      'EXCHANGE_WEBHOOK_SECRET',
      'NIGHTFERRY_HTTP_TOKEN',
      'NIGHTFERRY_NOTIFY_URL',
    ]),
  )
})

test('docs/doctor.md lists exactly the checks, by group and in their order', () => {
  const page = readPage('docs/doctor.md')
  const listed = Object.values(groups).flatMap((heading) => firstCells(section(page, heading)))
  expect(listed).toEqual(checks.map(({ id }) => id))
  expect(new Set(listed).size).toBe(listed.length)
})

test('the certificate of the HTTP API is judged by how long it is still valid', async () => {
  await using folder = await workingFolder()
  const { certificateFile: file } = writeCertificate(folder.path, 30)
  const pem = readFileSync(file, 'utf8')
  const inDays = (days: number) => judgeCertificate(file, pem, new Date(Date.now() + days * 86_400_000))
  expect(inDays(1)).toMatchObject([{ level: 'ok', subject: file }])
  expect(inDays(17)).toMatchObject([{ level: 'warning', todo: expect.stringContaining('SIGHUP') }])
  expect(inDays(31)).toMatchObject([{ level: 'error' }])
  expect(judgeCertificate(file, 'planted', new Date())).toMatchObject([
    { level: 'error', what: expect.not.stringContaining('planted') },
  ])
})

test('a certificate file that serve cannot use is an error, although its first certificate is valid', async () => {
  await using folder = await workingFolder()
  const { certificateFile: file } = writeCertificate(folder.path, 30)
  const pem = readFileSync(file, 'utf8')
  for (const broken of [pem + pem.slice(0, 300), new X509Certificate(pem).raw]) {
    expect(judgeCertificate(file, broken, new Date())).toMatchObject([{ level: 'error', subject: file }])
  }
})

test('a key is suspected for a scheme, quotes, spaces and strange characters, and for nothing else', () => {
  expect(keyTrouble('Bearer abc')).toContain('scheme')
  expect(keyTrouble('"abc"')).toContain('quotes')
  expect(keyTrouble('ab c')).toContain('space')
  expect(keyTrouble('schlüssel')).toContain('character')
  expect(keyTrouble('basically-fine_42.=')).toBeNull()
})

test('a partner role is judged by what it could write', () => {
  const well = { administrator: false, writes: [], count: 0, untold: null }
  expect(judgeRights(well)[0]?.level).toBe('ok')
  expect(judgeRights({ ...well, writes: ['write a'], count: 14 })[0]?.what).toBe('The role could write a, and 13 more')
  expect(judgeRights({ ...well, administrator: true })[0]?.level).toBe('warning')
  expect(judgeRights({ ...well, untold: 'what its roles may do' })[0]?.level).toBe('advice')
})

test('a SQLite file is judged by what its user may write, and in WAL mode by what SQLite has to write', () => {
  const judged = (wal: boolean, file: boolean, folder: boolean) =>
    judgeRights({ administrator: false, writes: [], count: 0, untold: null, file: { wal, file, folder } })[0]
  expect(judged(false, false, true)?.level).toBe('ok')
  expect(judged(false, true, true)).toMatchObject({ level: 'warning', todo: expect.not.stringContaining('role') })
  expect(judged(true, false, false)).toMatchObject({
    level: 'warning',
    what: expect.stringContaining('only while another process has it open'),
  })
  expect(judged(true, false, true)).toMatchObject({
    level: 'warning',
    what: expect.stringContaining('the application may be unable to write'),
    todo: expect.stringContaining('journal_mode = delete'),
  })
  expect(judged(true, true, true)?.level).toBe('advice')
})

test('each dialect is told its own grant where open transactions do not show', () => {
  const grants = ['postgres://h/d', 'mysql://h/d', 'mssql://h/d'].map(
    (url) => judgeProtection('privilege', url, 600_000)[0]?.todo,
  )
  expect(grants.map((todo) => todo?.split(' to ')[0])).toEqual([
    'grant pg_read_all_stats',
    'grant process',
    'grant view server state',
  ])
  for (const lacks of ['standby', 'subscriber', 'prepared'] as const) {
    expect(judgeProtection(lacks, 'postgres://h/d', 600_000)[0]).toMatchObject({ level: 'advice' })
  }
  expect(judgeProtection(null, 'file:///x.db', 600_000)[0]?.what).toContain('(600 s)')
})

test('a cursor is judged by its kind and its index', () => {
  const look = {
    stream: 's',
    cursor: 'at',
    dialect: 'postgres',
    failure: null,
    plan: { rows: 1, cost: 1, indexed: true },
    cursorType: 'date',
    protection: 'overlap',
  }
  expect(judgeCursor(look)[0]?.level).toBe('ok')
  expect(judgeCursor({ ...look, plan: { ...look.plan, indexed: false } })[0]?.level).toBe('advice')
  expect(judgeCursor({ ...look, protection: 'none' })[0]?.level).toBe('warning')
  expect(judgeCursor({ ...look, cursor: null })[0]?.what).toContain('snapshot')
})

test('an index counts only if the condition on the cursor leads through it', () => {
  const scan = { 'Node Type': 'Index Scan', 'Index Cond': "(at >= '9999-12-01')" }
  expect(searchesBy({ Plans: [{ Plans: [scan] }] }, '9999-12-01')).toBe(true)
  expect(searchesBy({ Plans: [{ Filter: "(at >= '9999-12-01')", 'Index Cond': '(id = 1)' }] }, '9999-12-01')).toBe(
    false,
  )
})

describe("Nightferry's own database", () => {
  const server = {
    version: 180_001,
    shown: '18.1',
    encoding: 'UTF8',
    standby: false,
    read_only: false,
    autovacuum: true,
    frozen_age: 5,
  }
  const now = new Date('2026-11-23T12:00:00Z')
  test('old, newer, standby and read-only servers are told apart, and one whose encoding lacks letters', () => {
    expect(judgeServer(server)[0]?.level).toBe('ok')
    expect(judgeServer({ ...server, version: 140_009 })[0]?.level).toBe('error')
    expect(judgeServer({ ...server, version: 190_000 })[0]?.level).toBe('advice')
    expect(judgeServer({ ...server, encoding: 'LATIN1' })[0]).toMatchObject({
      level: 'error',
      what: 'The database is in LATIN1, which cannot hold every text',
    })
    expect(judgeServer({ ...server, standby: true, read_only: true }).map(({ level }) => level)).toEqual([
      'error',
      'error',
    ])
  })
  test('rights are enough to make both schemas, or to own them', () => {
    const both = ['nightferry', 'nightferry_queue'].map((name) => ({ name, owned: true }))
    expect(judgeOwnRights({ may_create: false, schemas: both, foreign_tables: 0 })[0]?.level).toBe('ok')
    expect(judgeOwnRights({ may_create: false, schemas: [], foreign_tables: 0 })[0]?.level).toBe('error')
    expect(
      judgeOwnRights({ may_create: true, schemas: [{ name: 'nightferry', owned: false }], foreign_tables: 0 })[0]?.what,
    ).toContain('nightferry')
    expect(judgeOwnRights({ may_create: true, schemas: both, foreign_tables: 3 })[0]?.level).toBe('error')
  })
  test('connections are an error if they can never be enough, and a warning if too few are free', () => {
    expect(
      [judgeConnections(10, 10, 25), judgeConnections(100, 20, 25), judgeConnections(100, 25, 25)].map(
        ([one]) => one?.level,
      ),
    ).toEqual(['error', 'warning', 'ok'])
  })
  test('disk is judged by what is free beside what the database takes', () => {
    const gib = 1024 ** 3
    expect(
      [judgeDisk(gib / 8, gib), judgeDisk(gib, 10 * gib), judgeDisk(3 * gib, gib), judgeDisk(null, gib)].map(
        ([one]) => one?.level,
      ),
    ).toEqual(['error', 'warning', 'ok', 'advice'])
    expect(judgeDisk(3 * gib, gib / 2)[0]?.what).toBe('3.0 GiB of disk are free, and the database takes 512 MiB')
    expect(judgeDisk(gib / 8, gib)[0]?.todo).toContain('nightferry run housekeeping --dry-run')
  })
  test('dead rows, old statistics, old transactions and a vacuum that is off are named', () => {
    const table = {
      table: 'nightferry.acceptance',
      bytes: 1,
      live: 1_000_000,
      dead: 10,
      vacuumed_at: null,
      analyzed_at: now,
    }
    expect(judgeTables([table], server, 60, now)[0]?.level).toBe('ok')
    const bad = judgeTables(
      [{ ...table, dead: 2_000_000, analyzed_at: null }],
      { ...server, autovacuum: false, frozen_age: 1_900_000_000 },
      90_000,
      now,
    )
    expect(bad.map(({ level }) => level)).toEqual(['warning', 'error', 'warning', 'warning', 'advice'])
  })
  test('a copy that is another than that of the newest run is warned of', () => {
    expect(judgeCopy('a', { runId: 7, copy: 'b' })[0]).toMatchObject({ level: 'warning' })
    expect(judgeCopy('a', { runId: 7, copy: 'a' })[0]).toMatchObject({ level: 'ok' })
    expect(judgeCopy(null, null)[0]).toMatchObject({ level: 'advice' })
  })
})

test('clocks a minute apart are a warning, whichever is ahead', () => {
  expect(judgeClock('x', { lowMs: -400, highMs: 900 })[0]).toMatchObject({ level: 'ok' })
  expect(judgeClock('x', { lowMs: 61_000, highMs: 62_000 })[0]?.what).toBe(
    "The clock of x is 61 s ahead of this machine's",
  )
  expect(judgeClock('x', { lowMs: -91_000, highMs: -90_000 })[0]?.what).toBe(
    "The clock of x is 90 s behind this machine's",
  )
})

describe('the schedule and the last runs', () => {
  const at = (text: string) => new Date(`2026-11-${text}:00Z`)
  const now = at('23T12:00')
  const run = {
    run_id: 5,
    trigger: 'schedule',
    state: 'finished',
    verdict: 'succeeded',
    failure: null,
    held: false,
    carried: null,
    asked: {},
    scheduled_for: at('23T02:30'),
    started_at: at('23T02:30'),
    finished_at: at('23T02:40'),
  } as const
  test('a schedule that cannot be read is an error, and none is advice', () => {
    const job = 'nightly-sync'
    const setting = { schedule: '30 2 * * *', timeZone: 'Europe/Copenhagen', missed: 'once', finishBy: null } as const
    expect(judgeSchedules([{ job, setting, next: nextOccurrence(job, setting, now) }])[0]?.what).toContain(
      '2026-11-24 01:30 UTC',
    )
    expect(judgeSchedules([{ job, setting: { ...setting, schedule: 'x' }, next: new Error('no') }])[0]?.level).toBe(
      'error',
    )
    expect(judgeSchedules([{ job, setting: { ...setting, schedule: null }, next: null }])[0]?.level).toBe('advice')
    const wrong = { ...setting, schedule: 'nonsense' }
    const refusal = () => nextOccurrence(job, wrong, now)
    expect(refusal).toThrow()
    const told = judgeSchedules([{ job, setting: wrong, next: caught(refusal) }])[0]?.what
    expect(told).toMatch(/^jobs\.nightly-sync\.schedule cannot be used: 'nonsense' in [^\n]*$/)
  })
  test('a schedule for housekeeping is advised where data are carried by schedule, and one alone carries none', () => {
    const never = { schedule: null, timeZone: 'UTC', missed: 'once', finishBy: null } as const
    const standing = (job: string, schedule: string | null) => ({
      job,
      setting: { ...never, schedule },
      next: schedule === null ? null : now,
    })
    const judge = (night: string | null, housekeeping: string | null) =>
      judgeSchedules([standing('nightly-sync', night), standing('housekeeping', housekeeping)]).map(
        ({ level, what, subject }) => [level, subject ?? what],
      )
    const [nightly, weekly] = ['30 2 * * *', '0 12 * * 0']
    const due = (job: string, schedule: string) =>
      `The next run of ${job} is due 2026-11-23 12:00 UTC (${schedule} in UTC)`
    expect(judge(nightly, null)).toEqual([
      ['ok', due('nightly-sync', nightly)],
      ['advice', 'housekeeping'],
    ])
    expect(judge(nightly, weekly)).toEqual([
      ['ok', due('nightly-sync', nightly)],
      ['ok', due('housekeeping', weekly)],
    ])
    expect(judge(null, weekly)).toEqual([
      ['ok', due('housekeeping', weekly)],
      ['advice', 'No job that carries data has a schedule: runs begin by hand alone'],
    ])
    expect(judge(null, null)).toEqual([['advice', 'There is no schedule: runs begin by hand alone']])
  })
  test('the next occurrence is right while clocks are put back', () => {
    const setting = { schedule: '30 2 * * *', timeZone: 'Europe/Copenhagen' }
    const next = (text: string) => nextOccurrence('nightly-sync', setting, new Date(text))?.toISOString()
    expect(next('2026-10-25T00:29:00Z')).toBe('2026-10-25T00:30:00.000Z')
    expect(next('2026-10-25T00:31:00Z')).toBe('2026-10-26T01:30:00.000Z')
    expect(next('2026-10-25T01:10:00Z')).toBe('2026-10-26T01:30:00.000Z')
    expect(next('2026-03-29T00:00:00Z')).toBe('2026-03-29T01:30:00.000Z')
  })
  test('a run that fell due and did not begin is missed, and nobody at work is warned of', () => {
    const due = at('23T02:30')
    const before = { ...run, scheduled_for: at('22T02:30') }
    const judge = (given: Partial<Parameters<typeof judgeMissed>[0]>) =>
      judgeMissed({ job: 'nightly-sync', due, now, since: null, runs: [run], atWork: 1, ...given })
    expect(judge({})[0]?.level).toBe('ok')
    expect(judge({ runs: [before], atWork: 0 }).map(({ level }) => level)).toEqual(['warning', 'warning'])
    const ahead = { ...run, scheduled_for: new Date(now.getTime() + 30 * 86_400_000) }
    expect(judge({ runs: [ahead, before] })[0]?.level).toBe('warning')
    expect(judge({ due: null, runs: [], atWork: 0 })[0]?.level).toBe('ok')
    const cleaning = judge({ job: 'housekeeping', runs: [before], atWork: 0 })
    expect(cleaning.map(({ level }) => level)).toEqual(['advice', 'advice'])
    const todo = (missed: 'once' | 'skip') => judge({ runs: [before], missed })[0]?.todo
    expect(todo('once')).toBe('nightferry serve catches up, or nightferry run nightly-sync')
    expect(todo('skip')).toBe(
      'nightferry run nightly-sync; nightferry serve begins what fell due while it was up, and skips what was missed',
    )
    const pause = { paused_by: 'ada', paused_at: at('21T09:00'), reason: 'the service moves' }
    expect(judge({ runs: [before], pause })).toEqual([
      {
        level: 'warning',
        what: 'nightly-sync was paused by ada 2026-11-21 09:00 UTC (the service moves): nothing starts it',
        todo: 'nightferry jobs resume nightly-sync',
      },
    ])
  })
  test('a run that fell due is missed where none ever was, and not where its schedule is newer', () => {
    const due = at('23T02:30')
    const before = { ...run, scheduled_for: at('22T02:30') }
    const levels = (since: Date | null, runs: Parameters<typeof judgeMissed>[0]['runs']) =>
      judgeMissed({ job: 'nightly-sync', due, now, since, runs, atWork: 1 }).map(({ level }) => level)
    expect(levels(null, [])).toEqual(['ok'])
    expect(levels(at('22T09:00'), [])).toEqual(['warning'])
    expect(levels(at('23T02:45'), [before])).toEqual(['ok'])
  })
  test('a run that the guard stopped is to be approved while its plans wait, and to be made up for once they do not', () => {
    const held = { ...run, held: true }
    const todo = (waiting: number[]) =>
      judgeLastRuns('push', [held, run], { atWork: 1, now, due: null, waiting }).map((found) => found.todo)
    expect(todo([held.run_id])).toEqual([`nightferry approve ${held.run_id} --dry-run`])
    expect(todo([held.run_id + 1])).toEqual([`nightferry approve ${held.run_id + 1} --dry-run`])
    expect(todo([])).toEqual(['nightferry run push'])
  })
  test('the last run is told by its end', () => {
    const levels = (...runs: Parameters<typeof judgeLastRuns>[1]) =>
      judgeLastRuns('nightly-sync', runs, { atWork: 0, now, due: null, waiting: [] }).map(({ level }) => level)
    expect(levels(run)).toEqual(['ok'])
    expect(levels({ ...run, verdict: 'partial' })).toEqual(['warning'])
    expect(levels({ ...run, held: true }, run)).toEqual(['warning'])
    expect(levels({ ...run, verdict: 'partial', carried: false })).toEqual(['warning', 'warning'])
    expect(levels({ ...run, state: 'running', finished_at: null }, run)).toEqual(['warning', 'ok'])
    const failure = { code: 'search_failed', message: 'no', step: 'pull' }
    expect(levels({ ...run, state: 'failed', failure }, run)).toEqual(['error'])
    expect(levels({ ...run, finished_at: at('20T02:30') })).toEqual(['ok', 'warning'])
    expect(levels()).toEqual(['ok'])
    expect(levels({ ...run, verdict: 'failed' })).toEqual(['error', 'warning'])
    const part = { ...run, asked: { streams: ['properties'] } }
    expect(levels(part, { ...run, state: 'failed', failure })).toEqual(['error', 'warning'])
    const underWay = { ...part, state: 'running' as const, finished_at: null }
    expect(judgeLastRuns('nightly-sync', [underWay], { atWork: 0, now, due: null, waiting: [] })[0]?.todo).toBe(
      'nightferry run nightly-sync --stream properties goes on with it',
    )
    const heldLast = { ...run, held: true }
    expect(levels(heldLast, { ...run, finished_at: at('20T02:30') })).toEqual(['warning', 'warning'])
  })
})

test('rows without success are told with the verb that lists them', () => {
  const counts = { stream: 'omissions', rejected: 0, invalid: 2, parked: 1, suspended: 0, unknown: 0, held: 0 }
  expect(judgeItems([counts]).map(({ level, todo }) => `${level}: ${todo}`)).toEqual([
    'warning: nightferry invalid',
    'advice: nightferry parked',
  ])
  expect(judgeItems([{ ...counts, parked: 3, suspended: 2 }]).map(({ what, todo }) => `${what}; ${todo}`)).toEqual([
    '2 rows cannot be right and were not sent: omissions 2; nightferry invalid',
    'One row waits for another row or request: omissions 1; nightferry parked',
    '2 rows are of suspended hotels: omissions 2; nightferry hotels',
  ])
  expect(judgeItems([{ ...counts, invalid: 1, parked: 0 }])[0]?.what).toMatch(
    /^One row cannot be right and was not sent: /,
  )
})

test('another profile is an error, and the same one under another key is none', () => {
  const inUse = {
    destination_id: 1,
    name: 'first',
    origin: 'https://a.example',
    path: '/x',
    custom_identifier_id: 'x',
    schema_name: null,
    made_at: new Date(0),
    used_since: new Date(0),
    left_at: null,
  }
  const configured = { baseUrl: 'https://a.example/x', customIdentifierId: 'X' }
  const verdict = (profile: 'same' | 'other') => ({ profile, certainty: 'certain', evidence: 'so it shows' }) as const
  const level = (more: object) => judgeDestination({ inUse, used: true, configured, profile: null, ...more })[0]?.level
  expect([level({}), level({ profile: verdict('same') }), level({ profile: verdict('other') })]).toEqual([
    'ok',
    'ok',
    'error',
  ])
  expect(level({ configured: { ...configured, baseUrl: 'https://b.example' } })).toBe('error')
  expect(level({ configured: { ...configured, baseUrl: 'https://a.example/y' } })).toBe('error')
  expect(level({ inUse: { ...inUse, path: null } })).toBe('ok')
  expect(level({ used: false, configured: { ...configured, baseUrl: 'https://b.example' } })).toBe('ok')
})

test.each([
  ['postgres://h/db?user=u&password=secretpw1', ['partner.url']],
  ['postgres://h/db?sslpassword=secretpw1', ['partner.url']],
  [`postgres://u:\${PW}1@h/db`, ['partner.url']],
  [`postgres://u:secretpw1@\${HOST}:\${PORT}/db`, ['partner.url']],
  [`postgres://u:\${PW:-secretpw1}@h/db`, ['partner.url']],
  [`postgres://u:\${PW}@h/db`, []],
  [`postgres://u:\${FIRST}\${SECOND}@\${HOST}:\${PORT}/\${NAME}`, []],
  [`postgres://\${USER_AND_PASSWORD}@h/db`, []],
  [`postgres://h/db?user=\${NAME}&password=\${PW}`, []],
])('of %s a password that stands in the file counts, wherever it stands, and a reference does not', (url, found) => {
  expect(secretsIn(`partner: { url: "${url}" }`)).toEqual(found)
})

test('a secret in a file counts, and a reference to a variable does not', () => {
  const text =
    'exchange: { apiKey: abc }\npartner: { url: "postgres://u:p@h/d" }\ndatabase: { url: embedded }\nnotify: { url: "$' +
    '{HOOK}" }'
  expect(secretsIn(text)).toEqual(['exchange.apiKey', 'partner.url'])
  const levels = [0o100600, 0o100640].map((mode) => judgeFile('f', { mode, uid: 1_000 }, ['x'])[0]?.level)
  expect(levels).toEqual(['ok', 'warning'])
  expect(judgeFile('f', { mode: 0o100644, uid: 1_000 }, [])[0]?.level).toBe('ok')
})

test("root's file may be open to one group, as a secret that Kubernetes mounts, and to nobody else", () => {
  const [mounted] = judgeFile('f', { mode: 0o100440, uid: 0 }, ['x'])
  expect(mounted).toMatchObject({ level: 'ok', what: expect.stringContaining('only root and its group') })
  for (const mode of [0o100444, 0o100460, 0o100450]) {
    const [open] = judgeFile('f', { mode, uid: 0 }, ['x'])
    expect(open).toMatchObject({ level: 'warning', todo: expect.stringContaining('chmod 640 f') })
  }
})
