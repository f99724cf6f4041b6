import type { Queryable } from '../sandbox.ts'

/** The size in bytes of the file behind this token, or null: no such file, or its task has not ended. */
export async function findFile(db: Queryable, token: string): Promise<{ bytes: number } | null> {
  const { rows } = await db.query<{ bytes: string | null }>(
    `select (select sum(length(bytes)) from sandbox.file_chunk c where c.token = f.token) as bytes
     from sandbox.file f join sandbox.task t on t.id = f.task_id
     where f.token = $1 and t.finished_at is not null`,
    [token],
  )
  return rows[0] ? { bytes: Number(rows[0].bytes ?? 0) } : null
}

/** The file's bytes, one stored piece at a time. */
export async function* readFile(db: Queryable, token: string): AsyncGenerator<Buffer> {
  for (let ordinal = 0; ; ordinal += 1) {
    const { rows } = await db.query<{ bytes: Buffer }>(
      'select bytes from sandbox.file_chunk where token = $1 and ordinal = $2',
      [token, ordinal],
    )
    const piece = rows[0]
    if (!piece) return
    yield piece.bytes
  }
}
