import { randomBytes } from 'node:crypto'
import type { Connection } from 'mysql2/promise'
import { inject } from 'vitest'
import { type DialectPartner, tables } from '../pipeline/delta/partners.ts'
import { asRoot } from './mariadb-server.ts'

/** It must appear in no message. */
export const password = "geheim/'#?@ö"

export type MariadbPartner = DialectPartner & {
  database: string
  /** The same database, read by a role that does not see which transactions are open. */
  blindUrl: string
  root: Connection
  /** Another connection with every privilege in the database, closed with the partner. */
  connect(): Promise<Connection>
}

/** A database of its own on the server of the test run, and two roles that may only read. */
export async function openMariadbPartner(ownTables = `${partnerTables};`): Promise<MariadbPartner> {
  const { port } = inject('mariadb')
  const database = `test_${randomBytes(6).toString('hex')}`
  const connections: Connection[] = []
  const connect = async () => {
    const connection = await asRoot(port)
    connections.push(connection)
    await connection.query(`use \`${database}\``).catch(() => {})
    return connection
  }
  const root = await connect()
  await root.query(`create database \`${database}\` character set utf8mb4`)
  await root.query(`use \`${database}\``)
  const role = async (name: string, privilege: string) => {
    const user = `${name}_${database.slice(5)}`
    await root.query(`create user ?@'127.0.0.1' identified by ?`, [user, password])
    await root.query(`grant select on \`${database}\`.* to ?@'127.0.0.1'`, [user])
    if (privilege !== '') await root.query(`grant ${privilege} on *.* to ?@'127.0.0.1'`, [user])
    return `mariadb://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`
  }
  const url = await role('reader', 'process')
  const blindUrl = await role('blind', '')
  await root.query(ownTables)
  const run = async (text: string) => {
    await root.query(text)
  }
  return {
    database,
    url,
    blindUrl,
    root,
    connect,
    run,
    literal: (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`,
    clear: () => run('delete from hotel; delete from reading'),
    close: async () => {
      await root.query(`drop database \`${database}\``)
      for (const connection of connections) connection.destroy()
    },
  }
}

const partnerTables = tables
  .replaceAll('at text', 'at datetime(6)')
  .replaceAll('value real', 'value double')
  .replaceAll('number integer', 'number bigint')
