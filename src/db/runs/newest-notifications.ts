import type { Selectable } from 'kysely'
import type { Database } from '../database.ts'
import type { NotificationTable } from '../tables/job-tables.ts'

/** The newest of what people were or are to be told, newest first. */
export async function newestNotifications(db: Database, limit: number): Promise<Selectable<NotificationTable>[]> {
  return await db.selectFrom('notification').selectAll().orderBy('notification_id', 'desc').limit(limit).execute()
}
