import { randomUUID } from 'node:crypto'
import { RequestRefused } from '../request-refused.ts'
import { inTransaction, type Queryable, type Sandbox } from '../running-sandbox.ts'
import type { CustomHeader } from './judge-header.ts'
import { newSecret } from './sign-delivery.ts'

/** What an owner may see of a webhook: neither its secret nor its header's value. */
export type Webhook = {
  id: string
  url: string
  topics: string[]
  header: { name: string } | null
  enabled: boolean
  createdAt: string
}

type WebhookSettings = { url: string; topics: string[]; header: CustomHeader | null; enabled: boolean }

/** Specification, Limits. */
const webhooksPerProfile = 5

/** How long the old secret signs beside the new one. Spec gap: no time is stated, docs/spec-gaps.md. */
const rotationMs = 24 * 60 * 60 * 1000

type Row = {
  id: string
  url: string
  topics: string[]
  header_name: string | null
  enabled: boolean
  created_at: Date
}
const columns = 'id, url, topics, header_name, enabled, created_at'

/**
 * Creates a webhook of the profile and gives its secret, which is never shown again.
 * @throws {RequestRefused} 409 when the profile has as many as it may.
 */
export async function createWebhook(
  { pool, clock }: Sandbox,
  profileId: number,
  settings: WebhookSettings,
): Promise<Webhook & { secret: string }> {
  const secret = newSecret()
  return inTransaction(pool, async (client) => {
    // Creations of one profile wait for each other: counting and inserting must not overlap.
    await client.query("select pg_advisory_xact_lock(hashtext('sandbox.webhook'), $1)", [profileId])
    const { rows } = await client.query<Row>(
      `insert into sandbox.webhook (id, profile_id, url, topics, header_name, header_value, enabled, secret, created_at)
       select $1, $2, $3, $4, $5, $6, $7, $8, $9
       where (select count(*) from sandbox.webhook where profile_id = $2) < $10
       returning ${columns}`,
      [
        randomUUID(),
        profileId,
        settings.url,
        settings.topics,
        settings.header?.name,
        settings.header?.value,
        settings.enabled,
        secret,
        new Date(clock.now()),
        webhooksPerProfile,
      ],
    )
    const created = rows[0]
    if (!created) {
      const message = `A profile may have ${webhooksPerProfile} webhooks. Delete one first.`
      throw new RequestRefused(409, 'webhook_limit_reached', message)
    }
    return { ...describe(created), secret }
  })
}

export async function listWebhooks(db: Queryable, profileId: number): Promise<Webhook[]> {
  const { rows } = await db.query<Row>(
    `select ${columns} from sandbox.webhook where profile_id = $1 order by created_at, id`,
    [profileId],
  )
  return rows.map(describe)
}

export async function readWebhook(db: Queryable, profileId: number, id: string): Promise<Webhook | null> {
  const { rows } = await db.query<Row>(`select ${columns} from sandbox.webhook where id = $1 and profile_id = $2`, [
    id,
    profileId,
  ])
  return rows[0] ? describe(rows[0]) : null
}

/** Changes what `changes` names. Disabling stops everything that is queued, but for tests, which may run then too. */
export async function changeWebhook(
  { pool }: Pick<Sandbox, 'pool'>,
  profileId: number,
  id: string,
  changes: Partial<WebhookSettings>,
): Promise<Webhook | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<Row>(
      `update sandbox.webhook set
         url = coalesce($3, url), topics = coalesce($4, topics), enabled = coalesce($5, enabled),
         header_name = case when $6 then $7 else header_name end,
         header_value = case when $6 then $8 else header_value end
       where id = $1 and profile_id = $2 returning ${columns}`,
      [
        id,
        profileId,
        changes.url,
        changes.topics,
        changes.enabled,
        changes.header !== undefined,
        changes.header?.name,
        changes.header?.value,
      ],
    )
    const changed = rows[0]
    if (!changed) return null
    if (!changed.enabled) {
      await client.query(
        `update sandbox.webhook_delivery
         set status = 'stopped', next_attempt_at = null, urgent = false, held = false
         where webhook_id = $1 and status = 'queued' and not is_test`,
        [id],
      )
    }
    return describe(changed)
  })
}

/** Removes a webhook, with its log. */
export async function deleteWebhook(db: Queryable, profileId: number, id: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from sandbox.webhook where id = $1 and profile_id = $2', [id, profileId])
  return rowCount === 1
}

/**
 * Gives a webhook a new secret. The one before signs beside it for a day; an older one no longer does, so rotating
 * twice ends a secret that others know.
 */
export async function rotateSecret(
  { pool, clock }: Pick<Sandbox, 'pool' | 'clock'>,
  profileId: number,
  id: string,
): Promise<string | null> {
  const secret = newSecret()
  const { rowCount } = await pool.query(
    `update sandbox.webhook set secret = $3, previous_secret = secret, previous_secret_until = $4
     where id = $1 and profile_id = $2`,
    [id, profileId, secret, new Date(clock.now() + rotationMs)],
  )
  return rowCount === 1 ? secret : null
}

function describe(row: Row): Webhook {
  return {
    id: row.id,
    url: row.url,
    topics: row.topics,
    header: row.header_name === null ? null : { name: row.header_name },
    enabled: row.enabled,
    createdAt: row.created_at.toISOString(),
  }
}
