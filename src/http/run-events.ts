import { setTimeout as delay } from 'node:timers/promises'
import { runProgress } from '../db/runs/progress.ts'
import { Problem } from './problem.ts'
import type { HttpContext } from './route.ts'

/** Between two looks at the run; a comment goes out when nothing has changed for longer. Milliseconds. */
const lookEveryMs = 1_000
const sayNothingForMs = 15_000

/** Clients that follow runs at once: each costs a query a second. */
const maxFollowers = 20

const followers = new WeakMap<HttpContext, number>()

/**
 * Follows a run until it ends, the daemon does, or the client has gone. A client that comes again is told where the run
 * stands now, so nothing has to be repeated for it.
 * @throws {Problem} 503 when too many follow already.
 */
export function followByEvents(context: HttpContext, runId: number): AsyncIterable<string> {
  const now = followers.get(context) ?? 0
  if (now >= maxFollowers) throw new Problem(503, 'too_many_followers', `${now} clients follow runs already.`)
  return events(context, runId)
}

async function* events(context: HttpContext, runId: number): AsyncGenerator<string> {
  // Counted from its first event on: what is never begun is never ended either.
  followers.set(context, (followers.get(context) ?? 0) + 1)
  try {
    let last = ''
    let saidAt = performance.now()
    while (!context.stopping.aborted) {
      const { report: _, ...progress } = await runProgress(context.db, runId)
      const data = JSON.stringify(progress)
      if (data !== last) {
        yield `event: progress\ndata: ${data}\n\n`
        last = data
        saidAt = performance.now()
      } else if (performance.now() - saidAt > sayNothingForMs) {
        yield ': nothing new\n\n'
        saidAt = performance.now()
      }
      if (progress.state !== 'running') {
        yield `event: end\ndata: ${data}\n\n`
        return
      }
      await delay(lookEveryMs, undefined, { signal: context.stopping }).catch(() => {})
    }
  } finally {
    followers.set(context, (followers.get(context) ?? 1) - 1)
  }
}
