import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt, hotelAt } from '../../src/sandbox/hotels.ts'
import { type Daemon, openDaemon } from './daemon.ts'
import {
  checkAccepted,
  checkEnd,
  checkOrder,
  checkRunEnded,
  excusedTasks,
  type PartnerFacts,
  partnerFacts,
  Violation,
} from './invariants.ts'
import { type Cell, cellsOf, seed, siblingHotel } from './partner.ts'
import { openServiceLog, siblingPrefix } from './service-log.ts'
import type { Step, Story, Which } from './steps.ts'
import { apiKey, type ModelWorld, siblingKey } from './world.ts'

const decompress = promisify(gunzip)

/** What a story was made of, to see that the stories as a whole are about something. */
export type Played = Record<(typeof counted)[number], number>
export const counted = [
  'tasks',
  'runs',
  'failedRuns',
  'heldRuns',
  'deaths',
  'repeats',
  'lost',
  'abandoned',
  'adopted',
  'cancelled',
  'retried',
  'unknown',
  'rejected',
  'moved',
  'refusals',
  'lostFiles',
  'restores',
] as const

/** Takes every step and checks the invariants after each; then ends all trouble, waits for rest, and checks the end. */
export async function play(world: ModelWorld, { night, initial, trouble, steps }: Story): Promise<Played> {
  await world.reset()
  const cells = cellsOf(night.streams)
  for (const [at, value] of initial.entries()) {
    const cell = cells[at]
    if (cell !== undefined && value !== null) await put(world, cell, value)
  }
  const daemon = openDaemon(world, night)
  const log = openServiceLog(world)
  let copied = false
  const restored = new Set<Which>()
  const begun = new Map<number, PartnerFacts>()
  const excused = new Set<string>()
  const trigger = async () => {
    await world.partner.ripe()
    const before = await partnerFacts(world)
    const triggered = await daemon.trigger()
    if (triggered !== null && !triggered.resumed) begun.set(triggered.runId, before)
  }
  const check = async () => {
    const tasks = await log.tasks()
    // A restored ledger has forgotten what was given up.
    for (const id of await excusedTasks(world, tasks)) excused.add(id)
    checkOrder(tasks, excused)
    await checkAccepted(world, tasks)
    for (const runId of await endedRuns(world)) {
      const before = begun.get(runId)
      if (before !== undefined) await checkRunEnded(world, runId, before)
      begun.delete(runId)
    }
    return tasks
  }
  let profiles = trouble
  /** Copies are made of the databases, or put in the place of one, while the service's tasks have ended. */
  const replace = async (step: Step & { do: 'dump' | 'restore' }) => {
    if (step.do === 'restore' && !copied) return
    await world.chaos({})
    if (step.do === 'dump') {
      await world.dump()
      copied = true
    } else {
      const { which } = step
      if (which === 'service') await log.remember()
      await world.restore(which)
      restored.add(which)
      // Its runs have the numbers of others.
      if (which === 'own') begun.clear()
    }
    await world.chaos(profiles)
  }
  await world.chaos(trouble)
  await trigger()
  for (const step of steps) {
    if (step.do === 'trouble') profiles = step.profiles
    if (step.do === 'trigger') await trigger()
    else if (step.do === 'dump' || step.do === 'restore') await replace(step)
    else await take(world, daemon, cells, step)
    if (changesPartner(step)) await forgetChanged(world, begun)
    await check()
  }
  daemon.fix()
  await world.chaos({})
  await comeToRest(world, daemon, trigger)
  if (restored.size > 0) {
    await daemon.repair(restored)
    await comeToRest(world, daemon, trigger)
  }
  const tasks = await check()
  await checkEnd(world, tasks, excused)
  return { ...(await count(world, tasks.length, daemon.deaths())), restores: restored.size }
}

/** In the first statement about a stream that is read. */
const readingBegins = 'insert into stream_reading'

function changesPartner(step: Step): boolean {
  return ['put', 'remove', 'move'].includes(step.do) || (step.do === 'restore' && step.which === 'partner')
}

/** What changes while a run is under way need not be seen by it, also where it is soon as it was before. */
async function forgetChanged(world: ModelWorld, begun: Map<number, PartnerFacts>): Promise<void> {
  if (begun.size === 0) return
  const now = await partnerFacts(world)
  for (const [runId, before] of begun) {
    begun.set(runId, new Map([...before].filter(([target, { value }]) => now.get(target)?.value === value)))
  }
}

async function put(world: ModelWorld, cell: Cell, value: number): Promise<void> {
  const values = cell.values[value % cell.values.length]
  if (values !== undefined) await world.partner.put(cell, values)
}

async function take(
  world: ModelWorld,
  daemon: Daemon,
  cells: readonly Cell[],
  step: Exclude<Step, { do: 'trigger' | 'dump' | 'restore' }>,
): Promise<void> {
  switch (step.do) {
    case 'put': {
      const cell = chosen(cells, step.cell)
      if (cell !== undefined) await put(world, cell, step.value)
      return
    }
    case 'move': {
      const details = cells.filter(({ stream }) => stream === 'properties')
      const cell = chosen(details, step.hotel)
      if (cell !== undefined) await put(world, cell, step.value)
      return
    }
    case 'clock':
      world.setClock(step.minutes * 60_000)
      return
    case 'remove': {
      const cell = chosen(cells, step.cell)
      if (cell !== undefined) await world.partner.remove(cell)
      return
    }
    case 'look': {
      const look = chosen(await daemon.due(), step.nth)
      if (look !== undefined) await daemon.look([look], step.twice)
      return
    }
    case 'lookAtOnce': {
      const due = await daemon.due()
      const looks = [chosen(due, step.first), chosen(due, step.second)].filter((look) => look !== undefined)
      await daemon.look(looks)
      return
    }
    case 'work':
      await daemon.work(step.looks)
      return
    case 'pass':
      return await world.pass(step.ms)
    case 'trouble':
      return await world.chaos(step.profiles)
    case 'break':
      daemon.breakAt(
        { at: step.at, when: step.when, how: step.how, ...(step.reading === true && { from: readingBegins }) },
        step.gone,
      )
      return
    case 'sibling':
      return await sendAsSibling(world, step.kind, step.sameKey)
    case 'retry':
      return await daemon.retry()
    case 'fail':
      return await daemon.fail()
    case 'approve':
      return await daemon.approve()
    case 'abandon':
    case 'cancel': {
      const id = chosen(
        await submissionsIn(world, ['planned', 'sending', 'uncertain', 'accepted', 'terminal']),
        step.nth,
      )
      if (id !== undefined) await (step.do === 'abandon' ? daemon.abandon(id) : daemon.cancel(id))
      return
    }
    case 'adopt': {
      const id = chosen(await submissionsIn(world, ['uncertain', 'sending']), step.nth)
      const task = id === undefined ? undefined : await taskOf(world, id)
      if (id !== undefined && task !== undefined) await daemon.adopt(id, task)
      return
    }
    default:
      return step satisfies never
  }
}

function chosen<T>(from: readonly T[], nth: number): T | undefined {
  return from[nth % Math.max(1, from.length)]
}

async function submissionsIn({ own }: ModelWorld, states: readonly string[]): Promise<number[]> {
  const { rows } = await own.query<{ submission_id: number }>(
    'select submission_id from submission where state = any($1) order by submission_id',
    [states],
  )
  return rows.map(({ submission_id }) => submission_id)
}

/** The newest task that has the payload of a submission, as the service's support would find it. */
async function taskOf({ own, service }: ModelWorld, submissionId: number): Promise<string | undefined> {
  const { rows } = await own.query<{ payload: Buffer | null }>(
    `select string_agg(piece, '' order by ordinal) as payload
     from submission join submission_payload using (submission_id)
     where submission_id = $1 and kind <> 'calculators_search'`,
    [submissionId],
  )
  const payload = rows[0]?.payload
  if (payload === null || payload === undefined) return undefined
  const found = await service.query<{ id: string }>(
    'select id from witness.body join sandbox.task on id = task_id where body = $1 order by sequence desc limit 1',
    [await decompress(payload)],
  )
  return found.rows[0]?.id
}

/** Requests like ours, of a hotel that we have nothing to do with. What the service answers does not matter. */
async function sendAsSibling(world: ModelWorld, kind: number, sameKey: boolean): Promise<void> {
  const hotel = hotelAt(seed, siblingHotel)
  const id = `${siblingPrefix}${siblingHotel}`
  const { customIdentifierId } = catalogue
  const companyId = companyIdAt(seed, siblingHotel)
  const requests: [path: string, body: object][] = [
    [
      '/api/v1/bulk/company-mappings',
      {
        customIdentifierId,
        companies: [{ id, name: hotel.name, hotelCode: hotel.hotelCode, bookingId: hotel.bookingId }],
      },
    ],
    [
      '/api/v2/bulk/framework-answers/upsert',
      {
        companies: [
          {
            identifiedBy: { customProperty: { customPropertyId: customIdentifierId, value: id } },
            periods: [{ periodType: 'Yearly', year: 2025, answers: [] }],
          },
        ],
      },
    ],
    [
      '/api/v1/bulk/calculators/upsert',
      { groupId: catalogue.groupId, customIdentifierId, companies: [{ identifier: id, calculators: [] }] },
    ],
    [
      '/api/v2/bulk/companies/upsert',
      {
        customIdentifierId,
        companies: [
          { identifier: id, customProperties: [{ propertyId: catalogue.brandPropertyId, value: companyId }] },
        ],
      },
    ],
  ]
  const [path, body] = requests[kind % requests.length] ?? ['', {}]
  await fetch(`${world.sandboxUrl}${path}`, {
    method: 'POST',
    headers: { authorization: sameKey ? apiKey : siblingKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => {})
}

async function endedRuns({ own }: ModelWorld): Promise<number[]> {
  const { rows } = await own.query<{ run_id: number }>(
    "select run_id from run where state = 'finished' order by run_id",
  )
  return rows.map(({ run_id }) => run_id)
}

/** More than any night of this size takes. */
const mostLooks = 600
const mostRuns = 8

/**
 * Runs until nothing is left to do: the run under way ends, the guard's plans are approved, and a whole run ends after
 * which no row waits for another one.
 */
async function comeToRest(world: ModelWorld, daemon: Daemon, trigger: () => Promise<void>): Promise<void> {
  for (let runs = 0; runs < mostRuns; runs += 1) {
    await daemon.approve()
    const { rows: before } = await world.own.query("select from run where state = 'running'")
    await trigger()
    const looks = await daemon.work(mostLooks)
    const { rows } = await world.own.query<{ running: boolean; unsettled: boolean; newest: string }>(
      `select exists (select from run where state = 'running') as running,
              exists (select from guard_plan where state = 'waiting')
                or exists (select from acceptance where retry_action is not null)
                or exists (select from ledger row
                           where gone_at is null and invalid_reason is null and outcome in ('unknown', 'rejected')
                             and pending
                             and refused_hash is distinct from desired_hash
                             and (stream = 'properties' or exists (
                               select from ledger needed
                               where needed.stream = 'properties' and needed.partner_id = row.partner_id
                                 and not needed.pending))) as unsettled,
              (select state from run order by run_id desc limit 1) as newest`,
    )
    const [now] = rows
    if (looks >= mostLooks || now?.running === true) throw new Violation('3: a run without trouble does not end')
    if (before.length === 0 && now?.newest === 'finished' && !now.unsettled) return
  }
  const { rows } = await world.own.query(
    'select stream, row_key, outcome, outcome_code, invalid_reason from ledger where pending',
  )
  throw new Violation(
    `3: after ${mostRuns} runs without trouble something still waits for another one: ${JSON.stringify(rows)}`,
  )
}

async function count({ own }: ModelWorld, tasks: number, deaths: number): Promise<Omit<Played, 'restores'>> {
  const { rows } = await own.query<Omit<Played, 'tasks' | 'deaths' | 'restores'>>(
    `with told as (
       select coalesce(outcome, rest_outcome) as outcome from submission_row join submission using (submission_id)
     )
     select (select count(*) from run) as runs,
            (select count(*) from run where state = 'failed') as "failedRuns",
            (select count(*) from run where held) as "heldRuns",
            (select coalesce(sum(repeats), 0)::bigint from submission) as repeats,
            (select count(*) from submission where state = 'lost') as lost,
            (select count(*) from action where verb = 'abandon') as abandoned,
            (select count(*) from action where verb = 'adopt') as adopted,
            (select count(*) from action where verb = 'cancel') as cancelled,
            (select count(*) from action where verb = 'retry') as retried,
            (select count(*) from told where outcome = 'unknown') as unknown,
            (select count(*) from told where outcome = 'rejected') as rejected,
            (select count(*) from mapping_change) as moved,
            (select count(*) from submission where refusal is not null) as refusals,
            (select count(*) from submission where error_code = 'result_file_lost') as "lostFiles"`,
  )
  const [counts] = rows
  if (counts === undefined) throw new Error('a query without tables answers with a row')
  return { tasks, deaths, ...counts }
}
