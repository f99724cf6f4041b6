import type { StreamReport } from '../../db/runs/report-rows.ts'
import type { ProtectionLack, WholeReason } from '../../db/tables/run-tables.ts'

/** What is worth knowing of how streams were read, one sentence or two each. Pure. */
export function readingNotices(streams: readonly StreamReport[]): string[] {
  return [...wholeNotices(streams), ...askedNotices(streams), ...protectionNotices(streams)]
}

/** Reasons that say something to a person, with what they say; the others are as it should be. */
const wholeWords: Partial<Record<WholeReason, (streams: string, details: string) => string>> = {
  capture: (streams) => `The capture of ${streams} was changed: all rows were read and compared, so nothing is missed.`,
  cursor: (streams, details) =>
    `The cursor of ${streams} was changed (${details}). The old watermark says nothing of it, so all rows were read and compared, and nothing is missed. If that was no change of yours, look at cursor and query; nightferry reread reads a stream whole at any time.`,
  server: (streams, details) =>
    `Another server or database answers for the partner than before, or it was restored (${details}): all rows of ${streams} were read and compared. What to look at: docs/runbook.md, "The partner's database was restored".`,
  newest_row: (streams, details) =>
    `The newest known row of ${streams} is gone or older than it was (${details}): it was deleted, or the partner's database was restored from an older copy. All rows were read and compared. What to look at: docs/runbook.md, "The partner's database was restored".`,
}

function wholeNotices(streams: readonly StreamReport[]): string[] {
  return Object.entries(wholeWords).flatMap(([reason, say]) => {
    const concerned = streams.filter(({ whole }) => whole === reason)
    if (concerned.length === 0) return []
    const details = new Set(concerned.flatMap(({ whole_detail }) => whole_detail ?? []))
    return [say(named(concerned), [...details].join('; '))]
  })
}

function askedNotices(streams: readonly StreamReport[]): string[] {
  return streams
    .filter(({ hotels_asked }) => hotels_asked > 0)
    .map(({ stream, hotels_asked }) => {
      const hotels = hotels_asked === 1 ? '1 hotel' : `${hotels_asked} hotels`
      return `All ${stream} of ${hotels} were read again, because rows contradict each other; what the partner has no longer is counted as gone.`
    })
}

const lackWords: Record<ProtectionLack, string> = {
  standby:
    "The partner's database is a standby, which does not show what is open at its primary; read from the primary, or use capture: snapshot",
  track_activities:
    "Sessions of the partner's database do not say what they do, because track_activities is off there; switch it on",
  privilege:
    "The partner's database does not show all open transactions to this role; grant it what docs/extraction.md says",
}

function protectionNotices(streams: readonly StreamReport[]): string[] {
  const notices = []
  const byNothing = streams.filter(({ protection }) => protection === 'none')
  if (byNothing.length > 0) {
    notices.push(
      `The cursor of ${named(byNothing)} is no time: a row that got its cursor early and was committed late is missed if rows with a higher cursor were read before. With a time for a cursor, or capture: snapshot, it is found.`,
    )
  }
  const byOverlap = Map.groupBy(
    streams.filter(({ protection }) => protection === 'overlap'),
    ({ lacks }) => lacks ?? null,
  )
  for (const [lacks, concerned] of byOverlap) {
    const why = lacks === null ? "The partner's database does not show all open transactions" : lackWords[lacks]
    notices.push(
      `${why}: of ${named(concerned)}, a row committed late is found if its cursor lies within partner.overlapMs before the watermark, or else by the next full comparison.`,
    )
  }
  return notices
}

function named(streams: readonly StreamReport[]): string {
  return streams.map(({ stream }) => stream).join(', ')
}
