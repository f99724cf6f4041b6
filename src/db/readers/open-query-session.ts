import pg from 'pg'
import { setForSession } from '../database.ts'
import { schemaName } from '../migrate-to-latest.ts'
import { openQueryLogin, ownPowers } from './query-role.ts'
import { ReaderError } from './reader-error.ts'

type QuerySession = {
  client: pg.Client
  /**
   * What a person should know of the rights that the query has; null: it can read Nightferry's tables and nothing else.
   */
  notice: string | null
}

/** Every value as the server prints it. */
const asText: pg.CustomTypesConfig = { getTypeParser: () => String as unknown as typeof pg.types.getTypeParser }

/**
 * Opens a session for one query of a person: a read-only transaction under a role that can read Nightferry's tables and
 * views and nothing else. The role logs in itself, so no `reset role` in the query leads to a stronger one.
 *
 * On a server where our own role may not make such a role the query runs as our own, if that can do little more.
 * @throws {ReaderError} `query_not_limited` where it can do much more.
 */
export async function openQuerySession(url: string): Promise<QuerySession> {
  const owner = new pg.Client({ connectionString: url, application_name: 'nightferry sql' })
  owner.on('error', () => {})
  await owner.connect()
  try {
    const login = await openQueryLogin(owner)
    if (login !== null) {
      try {
        const reader = await connectAs(url, login.role, login.password)
        if (reader !== null) return { client: await readOnly(reader), notice: null }
      } finally {
        await login.close()
      }
    }
    const powers = await ownPowers(owner)
    const { rows } = await owner.query<{ role: string }>('select current_user as role')
    const role = rows[0]?.role ?? ''
    const why =
      login === null
        ? `${role} may not make a role for queries`
        : `the server does not let the role ${login.role}, which is made for queries, log in`
    if (powers.length > 0) {
      throw new ReaderError(
        'query_not_limited',
        `Nothing was asked: ${why}, and a query as ${role} could do more than read (${powers.join(', ')}). Use a client of your own as a role that nightferry grant lets read the views.`,
      )
    }
    return {
      client: await readOnly(await connected(url)),
      notice: `The query runs as ${role}, because ${why}: read-only, but with everything that ${role} may read.`,
    }
  } finally {
    await owner.end()
  }
}

/** In a transaction that has asked something already: none of its statements can make it writable any more. */
async function readOnly(client: pg.Client): Promise<pg.Client> {
  await client.query('begin read only')
  await client.query('select 1')
  return client
}

/** Null where the server, or a pooler before it, does not let the role in. */
async function connectAs(url: string, role: string, password: string): Promise<pg.Client | null> {
  const address = new URL(url)
  address.username = role
  address.password = password
  for (const name of ['user', 'password']) address.searchParams.delete(name)
  // An address without a host, such as a socket's, takes no user.
  if (address.username !== role) return null
  try {
    return await connected(address.href)
  } catch (error) {
    if (/^(28|08P01$|42501$)/.test((error as { code?: string }).code ?? '')) return null
    throw error
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'nightferry sql',
    types: asText,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await setForSession(client, { search_path: schemaName, timezone: 'UTC', default_transaction_read_only: 'on' })
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}
