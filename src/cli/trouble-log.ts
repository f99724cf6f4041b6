import type { Logger } from 'pino'

export type TroubleLog = {
  /** Logs the error as `event`, unless trouble of this kind was logged within the last interval: then it is counted. */
  tell: (event: string, error: Error) => void
  /** Logs what was counted and not told yet, and ends. */
  close: () => void
}

type Kind = { event: string; latest: Error; suppressed: number; timer: NodeJS.Timeout }

const minuteMs = 60_000

/**
 * Trouble that repeats itself many times a second, as when a database is away, told once a minute for each kind: the
 * event with the error's code, or with its words where it has none. `suppressed` says how often it was not told.
 */
export function createTroubleLog(logger: Pick<Logger, 'error'>, intervalMs: number = minuteMs): TroubleLog {
  const kinds = new Map<string, Kind>()
  const write = ({ event, latest, suppressed }: Pick<Kind, 'event' | 'latest' | 'suppressed'>) => {
    const { code } = latest as { code?: unknown }
    logger.error(
      {
        ...(code !== undefined && { code }),
        error: latest.message || String(code),
        ...(suppressed > 0 && { suppressed }),
      },
      event,
    )
  }
  const endOfInterval = (key: string) => {
    const kind = kinds.get(key)
    if (kind === undefined) return
    if (kind.suppressed === 0) {
      clearInterval(kind.timer)
      kinds.delete(key)
      return
    }
    write(kind)
    kind.suppressed = 0
  }
  return {
    tell: (event, error) => {
      const { code } = error as { code?: unknown }
      const key = `${event} ${typeof code === 'string' ? code : error.message.replaceAll(/\d+/g, '#')}`
      const known = kinds.get(key)
      if (known !== undefined) {
        known.suppressed += 1
        known.latest = error
        return
      }
      write({ event, latest: error, suppressed: 0 })
      const timer = setInterval(endOfInterval, intervalMs, key).unref()
      kinds.set(key, { event, latest: error, suppressed: 0, timer })
    },
    close: () => {
      for (const [key, kind] of kinds) {
        endOfInterval(key)
        clearInterval(kind.timer)
      }
      kinds.clear()
    },
  }
}
