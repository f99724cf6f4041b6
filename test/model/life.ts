import type pg from 'pg'
import type { ExchangeClient } from '../../src/exchange/client.ts'

/**
 * Where a process breaks off: at its nth call of the database or of the service, before it or when it is done. `from`:
 * calls count from the first statement with these words.
 */
export type Fate = { at: number; when: 'before' | 'after'; how: 'dies' | 'fails'; from?: string }

/** A connection as a killed backend leaves it. */
export class ConnectionBroken extends Error {
  readonly code = '57P01'
}

/**
 * What one process may do until it dies: from then on nothing that it awaits comes back, and its connections are cut.
 */
export type Life = {
  /** Resolves when the process is dead. */
  death: Promise<void>
  /** Resolves when no request that it sent is on its way any more: what left before the death still arrives. */
  silence(): Promise<void>
  /** How many calls it has made that count. */
  calls(): number
  pool(pool: pg.Pool): pg.Pool
  exchange(client: ExchangeClient): ExchangeClient
}

type Callable = (...args: unknown[]) => unknown

/** What a client says without a call: what it has learned of clocks. */
const learned = new Set<string | symbol>(['skew', 'serviceTime', 'showsNoClock'] satisfies (keyof ExchangeClient)[])

/** @param fate null: it lives. `kill` ends its connections at the server. */
export function startLife(fate: Fate | null): Life {
  let calls = 0
  let counting = fate?.from === undefined
  let dead = false
  const dying = Promise.withResolvers<void>()
  const clients = new Set<pg.PoolClient>()
  const underWay = new Set<Promise<unknown>>()
  const die = () => {
    dead = true
    for (const client of clients) client.release(true)
    clients.clear()
    dying.resolve()
  }
  /** What a dead process waits for. */
  const never = () => new Promise<never>(() => {})

  /** One call: done, failed, or the last thing that the process does. */
  const call = (work: () => unknown, mayFail: boolean): unknown => {
    if (dead) return never()
    if (counting) calls += 1
    if (fate === null || !counting || calls !== fate.at) return work()
    if (fate.how === 'fails') {
      if (!mayFail) return work()
      if (fate.when === 'before') return Promise.reject(new ConnectionBroken('terminating connection, before'))
      return Promise.resolve(work()).then(() => {
        throw new ConnectionBroken('terminating connection, after')
      })
    }
    if (fate.when === 'before') {
      die()
      return never()
    }
    const finish = async () => {
      await Promise.resolve(work()).catch(() => {})
      die()
      return await never()
    }
    return finish()
  }

  const bound = (target: object, key: string | symbol): unknown => {
    const value: unknown = Reflect.get(target, key)
    return typeof value === 'function' ? (value as Callable).bind(target) : value
  }

  const borrowed = (client: pg.PoolClient): pg.PoolClient => {
    clients.add(client)
    return new Proxy(client, {
      get: (target, key) => {
        if (key === 'release') {
          return (broken?: boolean) => {
            if (dead || !clients.delete(client)) return
            client.release(broken)
          }
        }
        if (key !== 'query') return bound(target, key)
        return (...args: unknown[]) => {
          const query = bound(target, 'query') as Callable
          // COPY and cursors are streams: they are handed out at once, so they can only be the call after which it
          // dies.
          if (typeof args[0] === 'object' && args[0] !== null && 'submit' in args[0]) return query(...args)
          if (!counting && JSON.stringify(args[0]).includes(fate?.from ?? '')) counting = true
          return call(() => query(...args), true)
        }
      },
    })
  }

  return {
    death: dying.promise,
    silence: async () => {
      await Promise.allSettled(underWay)
    },
    calls: () => calls,
    pool: (pool) =>
      new Proxy(pool, {
        get: (target, key) => {
          if (key === 'connect') {
            return async () => {
              if (dead) return await never()
              const client = await target.connect()
              if (!dead) return borrowed(client)
              client.release(true)
              return await never()
            }
          }
          if (key === 'query')
            return (...args: unknown[]) => call(() => (bound(target, 'query') as Callable)(...args), true)
          return bound(target, key)
        },
      }),
    exchange: (client) =>
      new Proxy(client, {
        get: (target, key) => {
          const value = bound(target, key)
          if (typeof value !== 'function' || learned.has(key)) return value
          const sent = (...args: unknown[]): unknown => {
            const answer = Promise.resolve((value as Callable)(...args)).finally(() => underWay.delete(answer))
            underWay.add(answer)
            return answer
          }
          return (...args: unknown[]) => call(() => sent(...args), false)
        },
      }),
  }
}
