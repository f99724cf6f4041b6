import { RequestRefused } from '../request-refused.ts'
import { isUuid } from '../requests/read-json.ts'

/** The parameters of a path, by name. */
export type Params = Readonly<Record<string, string>>

/** What `read` finds of the webhook that the path names. @throws {RequestRefused} 404 when it finds none. */
export async function found<T>({ webhookId = '' }: Params, read: (id: string) => Promise<T | null>): Promise<T> {
  const webhook = isUuid(webhookId) ? await read(webhookId) : null
  if (webhook === null) throw new RequestRefused(404, 'webhook_not_found', `There is no webhook "${webhookId}".`)
  return webhook
}
