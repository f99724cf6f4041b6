import type { ClientBase } from 'pg'

/**
 * Gives a session its settings once it is connected. As options of the connection they would be one message less, but
 * a pooler such as PgBouncer refuses those, or passes them over.
 */
export async function setForSession(
  client: Pick<ClientBase, 'query'>,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const entries = Object.entries(settings)
  const calls = entries.map((_, at) => `set_config($${2 * at + 1}, $${2 * at + 2}, false)`)
  await client.query(`select ${calls.join(', ')}`, entries.flat())
}
