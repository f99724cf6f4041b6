import { statfs } from 'node:fs/promises'
import { copyInUse, newestCopy } from '../db/runs/run-life.ts'
import { requireSchema, SchemaMismatch } from '../db/schema-standing.ts'
import { connectionRoom } from '../db/server-limits.ts'
import {
  databaseBytes,
  judgeConnections,
  judgeCopy,
  judgeDisk,
  judgeOwnRights,
  judgeServer,
  judgeTables,
  oldestTransactionSeconds,
  rightFacts,
  serverFacts,
  tableFacts,
} from './judge-own-database.ts'
import { advice, type Check, error, NotMadeYet, ok, on, warning } from './ward.ts'

export const ownDatabaseChecks: readonly Check[] = [
  {
    id: 'database_reached',
    group: 'database',
    why: 'Everything that Nightferry knows is there.',
    run: async (ward) => {
      await on(ward.config, 'configuration')
      return await ward.own().then(
        () => [ok('Reached')],
        (unreached: Error) => [
          unreached instanceof NotMadeYet
            ? advice(unreached.message, 'nightferry migrate, or the first nightferry run, makes it')
            : error(unreached.message, 'check DATABASE_URL (database.url), and that the server is up'),
        ],
      )
    },
  },
  {
    id: 'database_server',
    group: 'database',
    why: 'Nightferry is tested with PostgreSQL 15 to 18, and has to write.',
    run: async (ward) => judgeServer(await serverFacts((await on(ward.own, 'database_reached')).db)),
  },
  {
    id: 'database_rights',
    group: 'database',
    why: 'Nightferry makes and changes its own tables. A role that may not do so stops at the next migration.',
    run: async (ward) => judgeOwnRights(await rightFacts((await on(ward.own, 'database_reached')).db)),
  },
  {
    id: 'database_schema',
    group: 'database',
    why: 'Each version of Nightferry works with one schema.',
    run: async (ward) => {
      const { db } = await on(ward.own, 'database_reached')
      try {
        await requireSchema(db)
        return [ok('The tables are those of this version')]
      } catch (mismatch) {
        if (!(mismatch instanceof SchemaMismatch)) throw mismatch
        if (mismatch.code === 'schema_newer') return [error(mismatch.message, 'use the newer version')]
        const level = mismatch.code === 'schema_missing' ? advice : warning
        return [level(mismatch.message, 'nightferry migrate')]
      }
    },
  },
  {
    id: 'database_connections',
    group: 'database',
    why: 'A night that finds no connection stops in its middle.',
    run: async (ward) => {
      const { db, connectionsNeeded } = await on(ward.own, 'database_reached')
      const { limit, free } = await connectionRoom(db)
      return judgeConnections(limit, free + 1, connectionsNeeded)
    },
  },
  {
    id: 'database_disk',
    group: 'database',
    why: 'A server whose disk is full stops, and everything that uses it.',
    run: async (ward) => {
      const { db, dataFolder } = await on(ward.own, 'database_reached')
      const place = dataFolder === null ? null : await statfs(dataFolder).catch(() => null)
      return judgeDisk(place === null ? null : place.bavail * place.bsize, await databaseBytes(db))
    },
  },
  {
    id: 'database_tables',
    group: 'database',
    why: 'Dead rows are read with the live ones, and without statistics the server guesses: nights become slow.',
    run: async (ward) => {
      const { db } = await on(ward.own, 'database_reached')
      return judgeTables(await tableFacts(db), await serverFacts(db), await oldestTransactionSeconds(db), ward.now())
    },
  },
  {
    id: 'database_restored',
    group: 'database',
    why: 'A ledger from a backup knows nothing of what was sent after it.',
    run: async (ward) => {
      const { db } = await on(ward.ledger, 'database_schema')
      return judgeCopy(await copyInUse(db), await newestCopy(db))
    },
  },
]
