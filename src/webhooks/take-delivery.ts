import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Kysely, sql } from 'kysely'
import type pg from 'pg'
import type { Config } from '../config/schema.ts'
import type { Schema } from '../db/tables/database-schema.ts'
import type { Contract } from '../exchange/contract.ts'
import type { createWebhookVerifier, SignedDelivery, Verification } from '../exchange/webhook-signature.ts'

type Taking = {
  contract: Pick<Contract, 'names'>
  path: string
  customHeader: CustomHeader | null
  verify: ReturnType<typeof createWebhookVerifier>
  store: EventStore
  /** Told once an event is committed. */
  taken: () => void
  refused: (reason: RefusalReason) => void
}

/**
 * Takes one delivery: verified over the bytes as they came, committed, and only then answered with 204. Anyone who is
 * refused learns nothing but that: 404 for another path or method, else 400, both without a body. 503 if it cannot be
 * stored: the service delivers it again. Specification: Signature, Delivery and retries.
 */
export async function takeDelivery(taking: Taking, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const refuse = (reason: RefusalReason, status = 400) => {
    taking.refused(reason)
    answer(request, response, status)
  }
  if (request.method !== 'POST' || request.url !== taking.path) return refuse('other_path_or_method', 404)
  const signed = signedHeaders(taking.contract, request)
  // What nobody signed need not be read.
  const { id, timestamp, signature } = signed
  if (id === undefined || timestamp === undefined || signature === undefined) return refuse('header_missing')
  const body = await readBody(request)
  if (body === null) return refuse('body_too_large_or_cut')
  const verification = taking.verify({ ...signed, body })
  if (!verification.verified) return refuse(verification.reason)
  if (taking.customHeader !== null && !hasCustomHeader(taking.customHeader, request)) {
    return refuse('custom_header_wrong')
  }
  try {
    await taking.store.store({ eventId: id.toLowerCase(), payload: storable(body) })
  } catch {
    return refuse('not_stored', 503)
  }
  taking.taken()
  answer(request, response, 204)
}

/** Bytes that are no text are no event either: with what stands in their place it is found to be unreadable. */
function storable(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '\u{FFFD}')
}

function answer(request: IncomingMessage, response: ServerResponse, status: number): void {
  // What was not read to its end cannot be followed by another request on the same connection.
  if (!request.complete) response.setHeader('connection', 'close')
  response.writeHead(status, { 'content-length': 0 }).end(() => {
    if (!request.complete) request.destroy()
  })
}

/** Bytes of the largest delivery that is read. An event is a pointer of some 400; longer is none of the service's. */
const maxDeliveryBytes = 64 * 1024

/**
 * Reads the body of a request, at most 64 KiB of it: one that announces more is not read at all, and of one that
 * announces nothing no more is kept.
 * @returns null if it is larger, or ended before all of it had come.
 */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const announced = request.headers['content-length']
  if (announced !== undefined && Number(announced) > maxDeliveryBytes) return null
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    // Leaving the loop must not cut the connection: the answer is still to be sent.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxDeliveryBytes) return null
      chunks.push(chunk)
    }
  } catch {
    // The client went away.
    return null
  }
  return request.complete ? Buffer.concat(chunks, bytes) : null
}

/** A verified delivery, as it is kept. */
type Delivered = { eventId: string; payload: string }

type EventStore = {
  /** Resolves once the event is committed. @throws when it could not be stored, or not in time. */
  store(delivered: Delivered): Promise<void>
}

/** Thrown when too many deliveries wait, or one for too long: the service comes again in a minute. */
class StoreBusy extends Error {}

/** Events of one statement. More would make those that came first wait for the last. */
const batchSize = 500

/** Statements at once: while one is committed, the next gathers what comes. */
const statementsAtOnce = 2

/** Deliveries that wait to be stored; each may contain 64 KiB. */
const longestQueue = 1_000

/**
 * Less than the ten seconds after which the service gives an attempt up (specification, Delivery and retries). What is
 * committed after that is counted again when it comes again.
 */
const storedWithinMs = 8_000

type Waiting = Delivered & { givenUp: boolean; stored: () => void; failed: (error: unknown) => void }

/**
 * Stores events as they come, those that come together in one statement: a commit waits for the disk, however many
 * rows it has. An event that is there already is only counted.
 * @param onTrouble told of each statement that failed.
 */
export function createEventStore(pool: pg.Pool, onTrouble: (error: Error) => void): EventStore {
  const queue: Waiting[] = []
  let underWay = 0
  const flush = async (): Promise<void> => {
    underWay += 1
    while (queue.length > 0) {
      const batch = queue.splice(0, batchSize).filter(({ givenUp }) => !givenUp)
      try {
        if (batch.length > 0) await insert(pool, batch)
        for (const { stored } of batch) stored()
      } catch (error) {
        onTrouble(error as Error)
        for (const { failed } of batch) failed(error)
      }
    }
    underWay -= 1
  }
  return {
    store: (delivered) =>
      new Promise((stored, failed) => {
        if (queue.length >= longestQueue) {
          failed(new StoreBusy(`${longestQueue} deliveries wait to be stored`))
          return
        }
        const waiting: Waiting = { ...delivered, givenUp: false, stored, failed }
        const late = setTimeout(() => {
          waiting.givenUp = true
          failed(new StoreBusy(`not stored within ${storedWithinMs} ms`))
        }, storedWithinMs)
        waiting.stored = () => {
          clearTimeout(late)
          stored()
        }
        waiting.failed = (error) => {
          clearTimeout(late)
          failed(error)
        }
        queue.push(waiting)
        if (underWay < statementsAtOnce) void flush()
      }),
  }
}

/** In the order of the ids: two statements that count the same events wait for one another, and never in a circle. */
const storeEvents = `
  insert into webhook_event (event_id, payload, deliveries, destination_id)
  select event_id, min(payload collate "C"), count(*), (select destination_id from destination
    where schema_name is null)
  from unnest($1::text[], $2::text[]) as delivered (event_id, payload)
  group by event_id order by event_id
  on conflict (event_id) do update
    set deliveries = webhook_event.deliveries + excluded.deliveries, last_at = excluded.last_at`

async function insert(pool: pg.Pool, batch: readonly Delivered[]): Promise<void> {
  const query = {
    text: storeEvents,
    values: [batch.map(({ eventId }) => eventId), batch.map(({ payload }) => payload)],
    // A server that does not answer must not keep those waiting who can come again.
    query_timeout: storedWithinMs,
  }
  await pool.query(query)
}

/** The header that deliveries must have, if the webhook was given one. */
export function customHeaderOf({ headerName: name, headerValue: value }: Config['webhooks']): CustomHeader | null {
  return name === null || value === null ? null : { name, value }
}

/** What a header that must not be doubled says; undefined where it is missing or came more than once. */
function only(request: Pick<IncomingMessage, 'headersDistinct'>, name: string): string | undefined {
  const values = request.headersDistinct[name.toLowerCase()]
  return values?.length === 1 ? values[0] : undefined
}

/**
 * The signed headers of a delivery. One that came twice counts as missing: Node would join the two into a text that
 * nobody sent.
 */
function signedHeaders(
  { names: { webhookHeaders } }: Pick<Contract, 'names'>,
  request: Pick<IncomingMessage, 'headersDistinct'>,
): Omit<SignedDelivery, 'body'> {
  return {
    id: only(request, webhookHeaders.id),
    timestamp: only(request, webhookHeaders.timestamp),
    signature: only(request, webhookHeaders.signature),
  }
}

/** The custom header that a webhook was given at the service. */
type CustomHeader = { name: string; value: string }

/** Whether a delivery has the custom header. Compares in constant time: of hashes, so that no length shows either. */
function hasCustomHeader({ name, value }: CustomHeader, request: Pick<IncomingMessage, 'headersDistinct'>): boolean {
  const given = only(request, name)
  if (given === undefined) return false
  // Node reads headers as Latin-1. Which encoding the sender writes beyond ASCII is its own affair.
  const sent = hashOf(Buffer.from(given, 'latin1'))
  return formsOf(value).filter((form) => timingSafeEqual(sent, hashOf(form))).length > 0
}

/** The bytes of a header's value, in each encoding that has all its characters. */
function formsOf(value: string): Buffer[] {
  const latin1 = Buffer.from(value, 'latin1')
  return [Buffer.from(value, 'utf8'), ...(latin1.toString('latin1') === value ? [latin1] : [])]
}

function hashOf(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

/** Why a delivery was not taken. The sender is told none of it. */
export type RefusalReason =
  | Extract<Verification, { verified: false }>['reason']
  | 'custom_header_wrong'
  | 'body_too_large_or_cut'
  | 'other_path_or_method'
  | 'not_stored'

export type RefusalCounter = {
  count(reason: RefusalReason): void
  /** Adds what was counted since the last time to the table. @returns what that was. @throws without losing any. */
  flush(db: Kysely<Schema>): Promise<Partial<Record<RefusalReason, number>>>
}

/** Counts in memory: anyone who sends a thousand forged deliveries a second makes no thousand rows of them. */
export function createRefusalCounter(): RefusalCounter {
  let counted = new Map<RefusalReason, number>()
  const add = (reason: RefusalReason, refused: number) => counted.set(reason, (counted.get(reason) ?? 0) + refused)
  return {
    count: (reason) => void add(reason, 1),
    flush: async (db) => {
      const flushed = counted
      if (flushed.size === 0) return {}
      counted = new Map()
      try {
        await sql`
          insert into webhook_refusal (day, reason, refused, last_at)
          select current_date, reason, refused, clock_timestamp()
          from unnest(${[...flushed.keys()]}::text[], ${[...flushed.values()]}::bigint[]) as counted (reason, refused)
          order by reason
          on conflict (day, reason) do update
            set refused = webhook_refusal.refused + excluded.refused, last_at = excluded.last_at`.execute(db)
      } catch (error) {
        for (const [reason, refused] of flushed) add(reason, refused)
        throw error
      }
      return Object.fromEntries(flushed)
    },
  }
}
