import { answerOf } from '../processing/judge-value.ts'
import { isUuid } from '../requests/read-json.ts'
import type { Queryable, Sandbox } from '../running-sandbox.ts'
import type { Application } from './application.ts'

/** The applications that the profile owns, oldest first. */
export async function listApplications(db: Queryable, profileId: number): Promise<Application[]> {
  const { rows } = await db.query<Application>(
    `select id, profile_id as "profileId", company_id as "companyId", standard_id as "standardId", status,
            created_at as "createdAt"
     from sandbox.application where profile_id = $1 order by number`,
    [profileId],
  )
  return rows
}

/** An application that the profile owns, or that a company in one of these groups has made; otherwise null. */
export async function findApplication(
  db: Queryable,
  id: string,
  by: { profileId: number; groupIds: readonly string[] },
): Promise<Application | null> {
  if (!isUuid(id)) return null
  const { rows } = await db.query<Application>(
    `select id, profile_id as "profileId", company_id as "companyId", standard_id as "standardId", status,
            created_at as "createdAt"
     from sandbox.application
     where id = $1 and (profile_id = $2 or exists (
       select from sandbox.group_company member
       where group_id = any($3) and member.company_id = application.company_id))`,
    [id, by.profileId, by.groupIds],
  )
  return rows[0] ?? null
}

/** The application's answers, as the framework answers upsert spells them. */
export async function describeAnswers(
  { pool, contract, world }: Sandbox,
  id: string,
): Promise<Record<string, unknown>> {
  const names = contract.names.application
  const { rows } = await pool.query<{ data_point_id: string; values: unknown[] }>(
    'select data_point_id, values from sandbox.application_answer where application_id = $1 order by data_point_id',
    [id],
  )
  return {
    [names.answers]: rows.flatMap((row) => {
      const point = world.dataPoints.get(row.data_point_id)
      if (!point) return []
      return { [names.dataPointId]: point.id, [names.answer]: answerOf(contract, point, row.values) }
    }),
  }
}
