import type pg from 'pg'

/** Statements that keep a copy of tables, and that put it back. */
export type Copies = { dump: string; restore: string }

/**
 * Makes room for one copy of all tables of some schemas: within the database, because a copy of a few rows has to be
 * cheap. A restore puts back every row and every sequence, and fires no trigger, as that of a real dump does not.
 *
 * @param without tables that never change.
 */
export async function copying(pool: pg.Pool, schemas: string[], without: string[]): Promise<Copies> {
  const { rows } = await pool.query<{ schema: string; name: string; columns: string }>(
    `select nspname as schema, relname as name,
            string_agg(quote_ident(attname), ', ' order by attnum) filter (where attgenerated = '') as columns
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
     where relkind = 'r' and nspname = any($1) and relname <> all($2)
     group by nspname, relname order by 1, 2`,
    [schemas, without],
  )
  const { rows: sequences } = await pool.query<{ name: string }>(
    `select quote_ident(schemaname) || '.' || quote_ident(sequencename) as name
     from pg_sequences where schemaname = any($1) order by 1`,
    [schemas],
  )
  const tables = rows.map(({ schema, name, columns }) => ({
    columns,
    real: `"${schema}"."${name}"`,
    copy: `dump."${schema} ${name}"`,
  }))
  const counters = sequences.map(({ name }, at) => ({ name, copy: `dump.sequence_${at}` }))
  await pool.query(
    [
      'create schema dump',
      ...tables.map(
        ({ real, copy, columns }) => `create unlogged table ${copy} as select ${columns} from ${real} limit 0`,
      ),
      ...counters.map(({ copy, name }) => `create unlogged table ${copy} as select last_value, is_called from ${name}`),
    ].join('; '),
  )
  const all = (statements: string[]) =>
    `begin; set local session_replication_role = replica; ${statements.join('; ')}; commit`
  return {
    dump: all([
      ...tables.map(
        ({ real, copy, columns }) => `delete from ${copy}; insert into ${copy} select ${columns} from ${real}`,
      ),
      ...counters.map(
        ({ copy, name }) => `delete from ${copy}; insert into ${copy} select last_value, is_called from ${name}`,
      ),
    ]),
    restore: all([
      ...tables.map(({ real }) => `delete from ${real}`),
      ...tables.map(
        ({ real, copy, columns }) =>
          `insert into ${real} (${columns}) overriding system value select ${columns} from ${copy}`,
      ),
      ...counters.map(({ copy, name }) => `select setval('${name}', last_value, is_called) from ${copy}`),
    ]),
  }
}
