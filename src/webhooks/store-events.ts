import type pg from 'pg'

/** A verified delivery, as it is kept. */
type Delivered = { eventId: string; payload: string }

export type EventStore = {
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
const statement = `
  insert into webhook_event (event_id, payload, deliveries, destination_id)
  select event_id, min(payload collate "C"), count(*), (select destination_id from destination
    where schema_name is null)
  from unnest($1::text[], $2::text[]) as delivered (event_id, payload)
  group by event_id order by event_id
  on conflict (event_id) do update
    set deliveries = webhook_event.deliveries + excluded.deliveries, last_at = excluded.last_at`

async function insert(pool: pg.Pool, batch: readonly Delivered[]): Promise<void> {
  const query = {
    text: statement,
    values: [batch.map(({ eventId }) => eventId), batch.map(({ payload }) => payload)],
    // A server that does not answer must not keep those waiting who can come again.
    query_timeout: storedWithinMs,
  }
  await pool.query(query)
}
