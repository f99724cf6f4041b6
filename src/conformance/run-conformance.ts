import type { BulkRequest, Contract } from '../exchange/contract.ts'
import type { Bench, Limits, TaskNames, Writing } from './bench.ts'
import { checksInOrder } from './checks/all-checks.ts'
import { administer } from './evidence/administration.ts'
import { description } from './evidence/description.ts'
import { chooseHotel } from './evidence/hotel.ts'
import { unitTypes } from './evidence/reference-evidence.ts'
import { webhooks } from './evidence/webhook-set-up.ts'
import { judgeNames, type NameResult } from './names/judge-names.ts'
import type { OpenName } from './names/open-names.ts'
import { answerShapes, requestShapes } from './names/shapes.ts'
import { createSightings } from './names/sightings.ts'
import { differs, notObserved, type Observation, type Verdict } from './observation.ts'
import { type EntryId, type Form, outline, outlineEntries } from './outline.ts'
import { NoAnswer, openWire, type Wire } from './wire.ts'
import { at, isTaken, textOf } from './wire-json.ts'

export type ConformanceOptions = {
  baseUrl: string
  apiKey: string
  contract: Contract
  openNames: readonly OpenName[]
  /** Null: nothing is written, unless it is the sandbox, where a hotel is chosen. */
  writing: Writing | null
  /** The sandbox's own administration API may be used. */
  administration: boolean
  /** The reporting year that is written to where a hotel is chosen, and a field type to send, if one is known. */
  year: number
  fieldTypeId: string | null
  certifierKey: string | null
  siblingKey: string | null
  /** Address of the HTTP proxy that leads to the service. */
  proxy?: string | null
  limits: Limits
  /** Stops the run. */
  signal: AbortSignal
  /** Milliseconds since 1970. */
  now: () => number
  wait: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** Only these statements, with the evidence that they need; all of them if it is left out. */
  only?: readonly EntryId[]
  /** Told before each check. */
  onCheck?: (id: EntryId, nth: number, of: number) => void
}

type EntryResult = Observation & { id: EntryId; section: string; form: Form; rule: string }

export type ConformanceResult = {
  entries: EntryResult[]
  names: NameResult[]
  /** Entries by verdict, and names by verdict. */
  counts: Record<Verdict, number>
  nameCounts: Record<Verdict, number>
  /** Method and path of what was sent, with how often. */
  sent: Record<string, number>
  ms: number
}

/**
 * Nothing answers, or refuses the key, or is not the service or the sandbox that it was said to be: nothing was judged.
 */
class NothingToJudge extends Error {
  readonly code:
    | 'conformance_unreachable'
    | 'conformance_key_refused'
    | 'conformance_no_service'
    | 'conformance_no_sandbox'

  constructor(code: NothingToJudge['code'], message: string) {
    super(message)
    this.name = 'NothingToJudge'
    this.code = code
  }
}

/**
 * Walks the specification section by section against a deployment and tells of each statement what was seen. It reads,
 * and starts searches, unless it is told which hotel it may write to.
 * @throws {NothingToJudge} when the service cannot be reached, refuses the key, or is not what it was said to be.
 */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceResult> {
  const { contract, now, limits } = options
  const startedAt = now()
  const over = AbortSignal.timeout(limits.totalMs)
  const stop = AbortSignal.any([options.signal, over])
  const wire = openWire({ ...options, callMs: limits.callMs, pauseMs: limits.pollMs, signal: stop })
  const seen = { answered: createSightings(contract), accepted: createSightings(contract) }
  const taskNames = new Map<string, TaskNames>()
  const undoing: (() => Promise<unknown>)[] = []
  const bench = createBench(options, { wire, stop, seen, taskNames, undoing })
  try {
    await reach(bench)
    if (bench.administration) await requireSandbox(bench)
    const entries = await walk(bench, options, over)
    const document = await description(bench).catch(() => null)
    const evidence = {
      contract,
      answered: seen.answered.places(),
      accepted: seen.accepted.places(),
      taskNames,
      statusesOf: wire.statusesOf,
      description: document?.json,
    }
    const names = judgeNames(options.openNames, evidence)
    return {
      entries,
      names,
      counts: countOf(entries),
      nameCounts: countOf(names),
      sent: Object.fromEntries(wire.sent),
      ms: now() - startedAt,
    }
  } finally {
    wire.beginCleanUp()
    for (const undo of undoing.toReversed()) await undo().catch(() => undefined)
    await wire.close()
  }
}

function createBench(
  options: ConformanceOptions,
  inner: {
    wire: Wire
    stop: AbortSignal
    seen: Record<'answered' | 'accepted', ReturnType<typeof createSightings>>
    taskNames: Map<string, TaskNames>
    undoing: (() => Promise<unknown>)[]
  },
): Bench {
  const gathered = new Map<string, Promise<unknown>>()
  const { contract, limits, now, writing, administration, certifierKey, siblingKey } = options
  return {
    ...{ contract, limits, now, writing, administration, certifierKey, siblingKey },
    wire: inner.wire,
    told: [],
    lastingStrangers: new Set(),
    wait: (ms) => options.wait(ms, inner.stop),
    atEnd: (undo) => inner.undoing.push(undo),
    once: <T>(name: string, gather: () => Promise<T>) => {
      const known = gathered.get(name) ?? gather()
      gathered.set(name, known)
      return known as Promise<T>
    },
    note: (shape, document) => inner.seen.answered.note(answerShapes[shape], document),
    sawTask: (label, names) => inner.taskNames.set(label, names),
    sentBody: ({ request, body, status }) => {
      const shape = requestShapes[request as BulkRequest]
      if (shape !== undefined && isTaken(status)) inner.seen.accepted.note(shape, body)
    },
  }
}

/** The cheapest question first: without an answer to it there is nothing to judge. */
async function reach(bench: Bench): Promise<void> {
  try {
    const { status } = await unitTypes(bench)
    if (status === 200) return
    const isKeyDenied = status === 401 || status === 403
    throw new NothingToJudge(
      isKeyDenied ? 'conformance_key_refused' : 'conformance_no_service',
      `${bench.wire.baseUrl} answered ${status} to the unit types. ${
        isKeyDenied
          ? 'Is the key sent as it was created, and for this service?'
          : 'Is it the base address of the service, without /api, and is the service up?'
      }`,
    )
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    throw new NothingToJudge('conformance_unreachable', `${bench.wire.baseUrl} cannot be reached: ${error.message}`)
  }
}

/** Administration writes freely: it must never meet anything but the sandbox. */
async function requireSandbox(bench: Bench): Promise<void> {
  const { status, json } = await administer(bench, 'GET', 'clock')
  if (status === 200 && textOf(at(json, 'now')) !== null) return await keepPace(bench, at(json, 'timeWarp'))
  throw new NothingToJudge(
    'conformance_no_sandbox',
    `${bench.wire.baseUrl} is not our sandbox: its clock answered ${status}. Leave --administration away.`,
  )
}

/** Waits and folding are measured by calls that take real time, so the sandbox's clock keeps real pace meanwhile. */
async function keepPace(bench: Bench, timeWarp: unknown): Promise<void> {
  if (typeof timeWarp !== 'number' || timeWarp === 1) return
  bench.atEnd(() => administer(bench, 'PUT', 'clock', { body: { timeWarp } }))
  await administer(bench, 'PUT', 'clock', { body: { timeWarp: 1 } })
}

async function walk(bench: Bench, options: ConformanceOptions, over: AbortSignal): Promise<EntryResult[]> {
  // Subscribed before anything else is sent, so that deliveries tell of all of it.
  if (bench.administration) await webhooks(bench).catch(() => undefined)
  const writing = bench.writing ?? (bench.administration ? await choose(bench, options) : null)
  const granted: Bench = { ...bench, writing }
  const { only } = options
  const wanted = outlineEntries.map(({ id }) => id).filter((id) => only === undefined || only.includes(id))
  const checks = checksInOrder(wanted)
  const observed = new Map<EntryId, Observation>()
  for (const [nth, [id, check]] of checks.entries()) {
    options.onCheck?.(id, nth + 1, checks.length)
    observed.set(id, over.aborted ? timeIsUp : await observe(() => check(granted), over))
    options.signal.throwIfAborted()
  }
  return outline.flatMap(({ heading, entries }) =>
    entries
      .filter(({ id }) => wanted.includes(id))
      .map((entry) => ({ ...entry, section: heading, ...(observed.get(entry.id) ?? timeIsUp) })),
  )
}

async function choose(bench: Bench, { year, fieldTypeId }: ConformanceOptions): Promise<Writing | null> {
  const chosen = await chooseHotel(bench, year).catch(() => null)
  return chosen && { ...chosen, fieldTypeId }
}

const timeIsUp = notObserved('the time for the whole run was over')

async function observe(check: () => Observation | Promise<Observation>, over: AbortSignal): Promise<Observation> {
  try {
    return await check()
  } catch (error) {
    if (over.aborted) return timeIsUp
    return differs(error instanceof NoAnswer ? `no answer: ${error.message}` : String(error))
  }
}

function countOf(results: readonly Observation[]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = { holds: 0, differs: 0, 'not observed': 0 }
  for (const { verdict } of results) counts[verdict] += 1
  return counts
}
