import type pg from 'pg'
import type { ProtectionLack } from '../db/tables/run-tables.ts'

/**
 * No row past this moment may move a watermark; `zone` is where the server's clocks without a time zone stand. `lacks`:
 * why the moment does not speak for all transactions, so that the overlap has to protect; null if it does.
 */
export type PostgresBound = { moment: string; zone: string; lacks: ProtectionLack | null }

/**
 * The start of the oldest transaction that is open in the partner's database now, or a tenth of a second ago, as the
 * server prints it. The tenth is for transactions that have begun and are not listed yet, for want of a processor.
 *
 * Three things hide transactions. A standby lists its own and not those of its primary, which are the ones that write.
 * Sessions with `track_activities` off leave no start; they show as disabled to those who may see them. And
 * transactions of other roles show their start only to members of pg_read_all_stats. For all of them there is the
 * overlap.
 */
export async function oldestOpen(client: pg.Client): Promise<PostgresBound> {
  const { rows } = await client.query<{ moment: string; zone: string; lacks: ProtectionLack | null }>(
    `select least(statement_timestamp() - interval '100 milliseconds', min(began))::text as moment,
            current_setting('TimeZone') as zone,
            case when pg_is_in_recovery() then 'standby'
                 when not pg_has_role(current_user, 'pg_read_all_stats', 'usage') then 'privilege'
                 when current_setting('track_activities') <> 'on' or coalesce(bool_or(untracked), false)
                   then 'track_activities' end as lacks
     from (select xact_start as began, state = 'disabled' as untracked from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()
           union all
           select prepared, false from pg_prepared_xacts where database = current_database()) open_transaction`,
  )
  const bound = rows[0]
  if (bound === undefined) throw new Error('the server did not say what time it is')
  return bound
}

/**
 * The cluster, its timeline and the database's own number. A restore of files begins another timeline or is another
 * cluster, and a database that was created again has another number. A dump that was restored into the same database
 * shows nowhere here. Servers that are only like PostgreSQL may not tell.
 */
export async function serverOf(client: pg.Client): Promise<string | null> {
  try {
    const { rows } = await client.query<{ server: string }>(
      `select concat_ws('/', (select system_identifier from pg_control_system()),
                             (select timeline_id from pg_control_checkpoint()),
                             (select oid from pg_database where datname = current_database())) as server`,
    )
    return rows[0]?.server ?? null
  } catch (error) {
    if (!cannotTell.has((error as { code?: string }).code ?? '')) throw error
    return null
  }
}

/** Not allowed, no such function, not supported. */
const cannotTell = new Set(['42501', '42883', '42P01', '42703', '0A000'])
