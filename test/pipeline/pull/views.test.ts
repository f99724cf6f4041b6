import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { searchDatabase } from './search-database.ts'

it('the schema explains every view and every column that people query', async () => {
  await using database = await searchDatabase()
  const { rows } = await sql<{ place: string; comment: string | null }>`
    select concat_ws('.', c.relname, a.attname) as place, col_description(c.oid, a.attnum) as comment
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relkind = 'v' and c.relnamespace = 'nightferry'::regnamespace
    union all
    select c.relname, obj_description(c.oid, 'pg_class') from pg_class c
    where c.relkind = 'v' and c.relnamespace = 'nightferry'::regnamespace`.execute(database.db)
  expect(rows.length).toBeGreaterThan(200)
  expect(rows.filter(({ comment }) => comment === null)).toEqual([])
})
