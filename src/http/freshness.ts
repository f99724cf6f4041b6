import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** The newest run that carried the data through, and what is under way. */
type Carried = { started_at: Date | null; running: boolean }

/** Whether the data are as fresh as promised, and if not, why. */
type Freshness = { fresh: boolean; since: Date | null; why: string }

/** When the newest run that ended well or partly began: what changed at the partner before that was read. */
export async function newestCarried(db: Database, job: string): Promise<Carried> {
  const { rows } = await sql<Carried>`
    select (select started_at from run where job = ${job} and verdict in ('succeeded', 'partial')
            order by run_id desc limit 1) as started_at,
           exists (select from run where job = ${job} and state = 'running') as running`.execute(db)
  return rows[0] ?? { started_at: null, running: false }
}

/** Judges how fresh the data are. Pure. @param withinMs `http.freshWithinMs`. */
export function judgeFreshness({ started_at: since, running }: Carried, now: Date, withinMs: number): Freshness {
  const underWay = running ? ' A run is under way.' : ''
  if (since === null) return { fresh: false, since, why: `No run has carried the data through yet.${underWay}` }
  const hours = ((now.getTime() - since.getTime()) / 3_600_000).toFixed(1)
  const promised = (withinMs / 3_600_000).toFixed(1)
  const why = `The newest run that carried the data through began ${hours} hours ago, and ${promised} are promised.`
  return { fresh: now.getTime() - since.getTime() <= withinMs, since, why: `${why}${underWay}` }
}
