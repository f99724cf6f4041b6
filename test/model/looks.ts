import { sql, type Transaction } from 'kysely'
import type pg from 'pg'
import { nextTimers } from '../../src/db/runs/run-life.ts'
import type { Schema } from '../../src/db/tables/database-schema.ts'
import type { Looks } from '../../src/pipeline/deps.ts'

export type LookKind = 'run' | 'submission' | 'page'
export type Look = { look_id: number; kind: LookKind; id: number; timer: number | null; due: Date; failures: number }

/**
 * The queue of looks as a table, so that a look exists if and only if the transaction that asked for it was committed;
 * which look comes next, and how often, is for the test to say.
 */
export async function createLookTable(pool: pg.Pool): Promise<void> {
  await pool.query(`
    create schema model;
    create table model.look (
      look_id bigint generated always as identity primary key, kind text not null, id bigint not null,
      timer integer, due timestamptz not null, failures integer not null default 0)`)
}

export function tableLooks(now: () => Date): Looks {
  const add = async (
    trx: Transaction<Schema>,
    kind: LookKind,
    id: number,
    delayMs = 0,
    timer: number | null = null,
  ) => {
    const due = new Date(now().getTime() + delayMs)
    await sql`insert into model.look (kind, id, timer, due) values (${kind}, ${id}, ${timer}, ${due})`.execute(trx)
  }
  return {
    atRun: (trx, runId) => add(trx, 'run', runId),
    atSubmissions: async (trx, ids, delayMs = 0) => {
      const timers = delayMs > 0 ? await nextTimers(trx, ids) : ids.map((id) => ({ submission_id: id, timer: null }))
      for (const { submission_id, timer } of timers) await add(trx, 'submission', submission_id, delayMs, timer)
    },
    atPages: async (trx, ids, delayMs) => {
      for (const id of ids) await add(trx, 'page', id, delayMs)
    },
  }
}

/** Every look that was asked for and has not been made, in the order in which they fall due. */
export async function openLooks(pool: pg.Pool): Promise<Look[]> {
  const { rows } = await pool.query<Look>('select * from model.look order by due, look_id')
  return rows
}

/** Takes a look out of the queue. */
export async function takeLook(pool: pg.Pool, { look_id }: Look): Promise<void> {
  await pool.query('delete from model.look where look_id = $1', [look_id])
}

/** Hands a look out again later, as the queue does when it failed or its worker died. */
export async function returnLook(pool: pg.Pool, look: Look, due: Date): Promise<void> {
  await pool.query('insert into model.look (kind, id, timer, due, failures) values ($1, $2, $3, $4, $5)', [
    look.kind,
    look.id,
    look.timer,
    due,
    look.failures + 1,
  ])
}
