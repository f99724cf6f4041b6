import { type Kysely, sql } from 'kysely'

/**
 * Who may read is written down like the other things that people do, and the views answer what they are asked at scale.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table action drop constraint action_verb_check`.execute(db)
  await sql`
    alter table action add constraint action_verb_check
      check (verb in ('retry', 'abandon', 'adopt', 'cancel', 'grant', 'revoke'))`.execute(db)
  await sql`comment on view actions is
    'What people did with the verbs retry, abandon, adopt, cancel and grant'`.execute(db)
  await sql`comment on column actions.verb is 'retry, abandon, adopt, cancel, grant or revoke'`.execute(db)
  await sql`comment on column actions.asked is
    'What the command line asked for: the filters of a retry, the role of a grant'`.execute(db)
  await sql`comment on column actions.rows is
    'How many rows were marked, or were in the submission; of a grant, how many views'`.execute(db)
  await readNumbersInPlace(db)
  await findCompaniesByPartnerId(db)
  await joinValuesByOneKey(db)
}

/**
 * A strict function with a `case` in it is never inlined, and its call takes most of the time of a query that asks for
 * numbers.
 */
async function readNumbersInPlace(db: Kysely<unknown>): Promise<void> {
  await sql`alter function numeric_reading(text) called on null input`.execute(db)
}

/**
 * A lateral subquery with a limit lets no predicate through: one hotel's partner id was looked for in all companies.
 * The latest mapping as the one after which there is no other says the same, and is found from either side.
 */
async function findCompaniesByPartnerId(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace view companies as
    select c.company_id, c.name, latest.partner_id, c.first_seen_at, c.changed_at, c.removed_at
    from company c
    left join (
      select m.company_id, m.partner_id from mapping m
      where not exists (
        select from mapping later
        where later.company_id = m.company_id
          and (later.mapped_at > m.mapped_at or (later.mapped_at = m.mapped_at and later.partner_id < m.partner_id))
      )
    ) latest using (company_id)`.execute(db)
}

/**
 * A value and its calculator have both keys in common, of which one follows from the other. The planner multiplies
 * their selectivities, expects one row of millions, and nests loops. `>=` and `<=` say `=` to the index, but are not
 * multiplied so. What the view makes of columns it cannot estimate either, unless it is told to look.
 */
async function joinValuesByOneKey(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace view calculator_values as
    select k.calculator_id, c.company_id, k.period_year, k.period_month,
      case v.direction when 'i' then 'input' else 'output' end as direction,
      n.variable_id, n.name as variable_name, v.value, numeric_reading(v.value) as value_numeric
    from calculator_value v
    join calculator k on k.calculator_key = v.calculator_key
      and v.company_key >= k.company_key and v.company_key <= k.company_key
    join company c on c.company_key = v.company_key
    join calculator_variable n using (variable_key)
    where k.removed_at is null and c.removed_at is null`.execute(db)
  await sql`
    create statistics calculator_value_direction
    on (case direction when 'i' then 'input' else 'output' end) from calculator_value`.execute(db)
  await sql`
    create statistics calculator_value_numeric on (numeric_reading(value)) from calculator_value`.execute(db)
}
