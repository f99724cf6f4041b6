import type { Database } from '../../../db/database.ts'

/** Ids of the variables that pulls have brought; of inputs they are field type ids. */
export async function variableIds(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('calculator_variable').select('variable_id').execute()
  return rows.map(({ variable_id }) => variable_id)
}
