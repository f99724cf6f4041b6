import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { StreamName } from '../../src/config/schema.ts'
import { type Fact, factsOfRow, hotelOf, isDependent } from './facts.ts'
import { isGood } from './partner.ts'
import { readState, type SeenTask } from './service-log.ts'
import type { ModelWorld } from './world.ts'

const decompress = promisify(gunzip)

/** An invariant of the architecture that does not hold. */
export class Violation extends Error {}

function forbid(which: string, found: readonly unknown[]): void {
  if (found.length > 0) throw new Violation(`${which}: ${JSON.stringify(found.slice(0, 3), null, 1)}`)
}

/**
 * Invariant 1: a row is never marked accepted unless the service's own answer says so. Whatever content the ledger
 * takes for accepted must stand in requests of ours of which the service reports that it took that very row.
 */
export async function checkAccepted({ own }: ModelWorld, tasks: readonly SeenTask[]): Promise<void> {
  const { rows } = await own.query<{ stream: StreamName; row_key: string; partner_id: string; content: never }>(
    `select row.stream, row.row_key, row.partner_id, said.content
     from ledger row left join witness.content said on said.row_id = row.row_id and said.hash = row.accepted_hash
     where row.accepted_hash is not null`,
  )
  const taken = new Set(tasks.flatMap((task) => task.taken.map(keyOf)))
  const wrong = rows.filter(
    ({ stream, partner_id, content }) =>
      content === null || !factsOfRow(stream, partner_id, content).every((fact) => taken.has(keyOf(fact))),
  )
  forbid('1: accepted, though the service never said that it took it', wrong)
}

const keyOf = ({ target, value }: Fact): string => `${target} = ${value}`

/**
 * Tasks that nobody waits for any more, because a person gave their submission up or the service denied them three
 * times: what they hold is free again (decision 0008), so they excuse what follows them.
 */
export async function excusedTasks({ own }: ModelWorld, tasks: readonly SeenTask[]): Promise<Set<string>> {
  const { rows } = await own.query<{ correlation_id: string | null; payload: Buffer | null }>(
    `select correlation_id, string_agg(piece, '' order by ordinal) as payload
     from submission join submission_payload using (submission_id)
     where state in ('abandoned', 'lost') group by submission_id, correlation_id`,
  )
  const ids = new Set(rows.map(({ correlation_id }) => correlation_id))
  const bodies = new Set<string>()
  for (const { payload } of rows) {
    if (payload !== null)
      bodies.add(
        createHash('sha256')
          .update(await decompress(payload))
          .digest('hex'),
      )
  }
  return new Set(tasks.filter(({ id, body }) => ids.has(id) || bodies.has(body)).map(({ id }) => id))
}

type Overlap = { earlier: string; later: string; targets: string[]; sameBody: boolean; excused: boolean }

/** Pairs of our tasks that were unfinished at one moment and write one thing. */
export function overlaps(tasks: readonly SeenTask[], excused: ReadonlySet<string>): Overlap[] {
  const pairs: Overlap[] = []
  for (const [at, earlier] of tasks.entries()) {
    for (const later of tasks.slice(at + 1)) {
      if (later.received > earlier.terminal) continue
      const held = new Set(earlier.facts.map(({ target }) => target))
      const targets = later.facts.map(({ target }) => target).filter((target) => held.has(target))
      if (targets.length === 0) continue
      const sameBody = earlier.body === later.body
      pairs.push({ earlier: earlier.id, later: later.id, targets, sameBody, excused: excused.has(earlier.id) })
    }
  }
  return pairs
}

/**
 * Invariants 4 and 5, from the service's log alone: no two unfinished tasks of ours write one thing, above all not the
 * same request twice; and what depends on a mapping comes after the end of a mapping that the service took.
 */
export function checkOrder(tasks: readonly SeenTask[], excused: ReadonlySet<string>): void {
  const together = overlaps(tasks, excused).filter((pair) => !pair.excused)
  forbid(
    '5: sent again while the first was running',
    together.filter(({ sameBody }) => sameBody),
  )
  forbid('4: two unfinished tasks write one thing', together)
  const early = tasks.flatMap((task) =>
    task.facts
      .filter(({ target }) => isDependent(target))
      .filter(
        ({ target }) =>
          !tasks.some(
            (mapping) =>
              mapping.terminal < task.received &&
              mapping.taken.some((fact) => !isDependent(fact.target) && hotelOf(fact.target) === hotelOf(target)),
          ),
      )
      .map(({ target }) => ({ task: task.id, target })),
  )
  forbid('4: sent before what it requires was accepted', early)
}

export type PartnerFacts = ReadonlyMap<string, Fact & { stream: StreamName; hotel: string }>

/** What the partner's database says now. */
export async function partnerFacts({ partner }: ModelWorld): Promise<PartnerFacts> {
  const rows = await partner.rows()
  return new Map(
    rows.flatMap(({ stream, row }) => {
      const hotel = row.partner_id ?? ''
      // An input that was never anything else wants nothing of the service.
      if (stream === 'calculator_inputs' && row.value === null) return []
      return factsOfRow(stream, hotel, row).map((fact) => [fact.target, { ...fact, stream, hotel }] as const)
    }),
  )
}

type LedgerRow = {
  stream: StreamName
  row_key: string
  partner_id: string
  content: Record<string, unknown>
  accepted: boolean
  refused: boolean
  invalid: boolean
  guarded: boolean
  gone: boolean
  held_by: number | null
  outcome: string | null
  sent: boolean
}

async function ledger({ own }: ModelWorld, runId: number): Promise<LedgerRow[]> {
  const { rows } = await own.query<LedgerRow>(
    `select stream, row_key, partner_id, content, not pending as accepted,
            refused_hash is not distinct from desired_hash as refused, invalid_reason is not null as invalid,
            guard_run is not null as guarded, gone_at is not null as gone, held_by, outcome,
            exists (select from submission_row sent join submission using (submission_id)
                    where sent.row_id = row.row_id and run_id = $1 and sent_hash = desired_hash) as sent
     from ledger row order by row_id`,
    [runId],
  )
  return rows
}

/**
 * Invariant 2: when a run has ended, everything that stood at the partner before it began and has not changed since is
 * in the ledger, and either sent, invalid, parked, withheld or held; and the report's counts add up.
 */
export async function checkRunEnded(world: ModelWorld, runId: number, before: PartnerFacts): Promise<void> {
  const now = await partnerFacts(world)
  const { rows: runs } = await world.own.query<{ held: boolean; verdict: string; report: Report }>(
    'select held, verdict, report from run where run_id = $1',
    [runId],
  )
  const run = runs[0]
  if (run === undefined) throw new Error(`there is no run ${runId}`)
  const rows = await ledger(world, runId)
  const mapped = mappedHotels(rows)
  const lost = [...before.values()].filter(({ target, value, stream, hotel }) => {
    if (now.get(target)?.value !== value) return false
    return !rows.some((row) => {
      const says = factsOfRow(row.stream, row.partner_id, row.content)
      if (!says.some((fact) => fact.target === target && fact.value === value)) return false
      const parked = stream !== 'properties' && !mapped.has(hotel)
      return row.accepted || row.sent || row.invalid || row.refused || row.guarded || row.gone || run.held || parked
    })
  })
  forbid(`2: lost sight of by run ${runId}`, lost)
  const wrong = run.report.streams.filter(
    (s) =>
      s.pending !== s.invalid + s.parked + s.withheld + s.held + s.sent ||
      s.sent !== s.confirmed + s.inferred + s.rejected + s.unknown,
  )
  forbid(`2: the report of run ${runId} does not add up`, wrong)
  if (run.verdict === 'failed') forbid(`2: run ${runId} says that its own counts do not add up`, run.report.remarks)
}

const factsOf = ({ stream, partner_id, content }: LedgerRow) => factsOfRow(stream, partner_id, content)

/** A target without its hotel. */
const atCompany = (target: string) => target.split(' | ').toSpliced(1, 1).join(' | ')

/** By hotel: the others that are the same company at the service. */
async function hotelsOfOneCompany({ service }: ModelWorld): Promise<Map<string, Set<string>>> {
  const { rows } = await service.query<{ one: string; other: string }>(
    `select one.value as one, other.value as other
     from sandbox.identifier one join sandbox.identifier other using (property_id, company_id)
     where one.value <> other.value`,
  )
  return new Map(
    [...Map.groupBy(rows, ({ one }) => one)].map(([hotel, pairs]) => [hotel, new Set(pairs.map(({ other }) => other))]),
  )
}

type Counts =
  | 'pending'
  | 'invalid'
  | 'parked'
  | 'withheld'
  | 'held'
  | 'sent'
  | 'confirmed'
  | 'inferred'
  | 'rejected'
  | 'unknown'
type Report = { streams: Record<Counts, number>[]; remarks: string[] }

function mappedHotels(rows: readonly LedgerRow[]): Set<string> {
  return new Set(
    rows.filter(({ stream, accepted }) => stream === 'properties' && accepted).map((row) => row.partner_id),
  )
}

/**
 * Invariant 3, once all trouble is over and nothing moves: the ledger and the service are as an uninterrupted run would
 * have left them, which the partner's rows alone decide. Everything good of a hotel that is mapped is accepted and is
 * what the service holds; what is not good is not accepted; nothing is held or under way.
 */
export async function checkEnd(
  world: ModelWorld,
  tasks: readonly SeenTask[],
  excused: ReadonlySet<string>,
): Promise<void> {
  const rows = await ledger(world, 0)
  const living = rows.filter(({ gone }) => !gone)
  const known = new Set(
    living.flatMap(({ stream, partner_id, content }) => factsOfRow(stream, partner_id, content).map(keyOf)),
  )
  forbid(
    '2: not in the ledger at the end',
    [...(await partnerFacts(world)).values()].filter((fact) => !known.has(keyOf(fact))),
  )
  const { rows: unfinished } = await world.own.query(
    "select submission_id, kind, state from submission where state in ('planned', 'sending', 'accepted', 'terminal', 'uncertain')",
  )
  forbid('3: still under way at the end', unfinished)
  forbid(
    '3: still held at the end',
    rows.filter(({ held_by }) => held_by !== null),
  )
  const mapped = mappedHotels(rows)
  const short = ({ stream, row_key, outcome, invalid, refused, accepted }: LedgerRow) => ({
    stream,
    row_key,
    outcome,
    invalid,
    refused,
    accepted,
  })
  const rivals = await hotelsOfOneCompany(world)
  /** Of two hotels that are one company, what one says otherwise than the other is not sent. */
  const contradicted = (row: LedgerRow) =>
    row.invalid &&
    factsOf(row).some((fact) =>
      living.some(
        (other) =>
          rivals.get(row.partner_id)?.has(other.partner_id) === true &&
          factsOf(other).some(
            ({ target, value }) =>
              isDependent(target) && atCompany(target) === atCompany(fact.target) && value !== fact.value,
          ),
      ),
    )
  const asked = living.filter(({ stream, partner_id }) => stream === 'properties' || mapped.has(partner_id))
  const good = (row: LedgerRow) => isGood(row.stream, row.content, row.partner_id)
  forbid(
    '3: good, and not accepted at the end',
    asked.filter((row) => good(row) && !row.accepted && !contradicted(row)).map(short),
  )
  forbid(
    '3: not good, and neither invalid nor rejected at the end',
    asked.filter((row) => !good(row) && !row.invalid && !row.refused).map(short),
  )
  const state = await readState(world)
  // A task that was given up may write after a later one; that is what decision 0008 warns of.
  const stale = new Set(overlaps(tasks, excused).flatMap(({ targets }) => targets))
  const different = living
    .filter(({ accepted }) => accepted)
    .flatMap(({ stream, partner_id, content }) => factsOfRow(stream, partner_id, content))
    .filter(({ target }) => !stale.has(target))
    .map(({ target, value }) => ({ target, value, stored: state.get(target) ?? '' }))
    .filter(({ target, value, stored }) => (isDependent(target) ? stored !== value : stored !== 'mapped'))
  forbid('3: accepted, and not what the service holds', different)
}
