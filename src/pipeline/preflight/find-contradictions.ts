import { sql, type Transaction } from 'kysely'
import { isSentAgain } from '../../db/ledger/rows-again.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import { contradictionKinds, judgedOtherwise, neverJudged, notCompared } from './judgements.ts'
import {
  type Fragment,
  gather,
  gatherAnswers,
  pairAnsweredAndDeclined,
  pairSpellings,
  period,
  target,
  thing,
} from './pair-rows.ts'

/**
 * Finds rows that contradict others, before they are judged: rows to judge are compared with all rows of their hotel,
 * and of other partner ids that are confirmed for the same company. Both sides are to be judged then, unless one is
 * accepted as it stands, or was, and is sent again: what the service has is not taken back for a newcomer. Rows of a
 * stream that no run reads contradict nothing: nobody can say that the partner still says so, nor tell it to change.
 *
 * What was found is kept, so that a row is judged again when the other says something else. Begun again it finds the
 * same.
 *
 * @param which `unjudged`: only rows that were never judged as they are, in the middle of a run.
 * @param since what landed from then on is not noted as compared with others: most of it is accepted before the next
 * night.
 * @param carried the streams that runs read and send.
 * @returns how many rows contradict another, newly or still.
 */
export async function findContradictions(
  trx: Transaction<Schema>,
  basis: number,
  since: Date,
  carried: readonly string[],
  which: 'all' | 'unjudged' = 'all',
): Promise<number> {
  await releaseOutdated(trx, carried)
  const candidates = await collectCandidates(trx, which === 'all' ? basis : null)
  if (candidates === 0) return 0
  await sql`
    create temp table pair (
      one bigint not null, other bigint not null, kind text not null,
      -- Whether \`one\` alone is at fault.
      one_sided boolean not null default false
    ) on commit drop`.execute(trx)
  await findNamesakes(trx)
  await gatherAnswers(trx, carried)
  await pairAnsweredAndDeclined(trx, carried)
  await pairFrameworks(trx)
  await pairSpellings(trx, carried)
  await pairPartnerIds(trx, carried)
  await noteAlike(trx)
  const found = await storeContradictions(trx, basis)
  if (which === 'all') await settleCompared(trx, basis, since)
  await sql`drop table pair, newcomer, namesake, answer`.execute(trx)
  return found
}

/**
 * Notes rows that wait since an earlier night as compared with others. Those of this night are not written a second
 * time for it: what still waits on the next is compared with others once more.
 */
async function settleCompared(trx: Transaction<Schema>, basis: number, since: Date): Promise<void> {
  await sql`
    update acceptance set judged_by = ${basis}
    from source_row row
    where accepted_hash is distinct from wanted_hash and checked_hash = wanted_hash
      and judged_by = ${notCompared(basis)}
      and row.row_id = acceptance.row_id and row.gone_at is null and row.changed_at < ${since}`.execute(trx)
}

/** Forgets what is no contradiction any more, and has those rows judged again. */
async function releaseOutdated(trx: Transaction<Schema>, carried: readonly string[]): Promise<void> {
  await sql`
    with outdated as (
      delete from row_finding found
      using source_row mine, source_row other
      where found.kind in (${contradictionKinds})
        and mine.row_id = found.row_id and other.row_id = found.other_row_id
        and (mine.desired_hash <> found.row_hash or other.desired_hash <> found.other_hash or other.gone_at is not null
             or mine.gone_at is not null
             or mine.stream <> all(${carried}::text[]) or other.stream <> all(${carried}::text[])
             or (found.kind = 'two_partner_ids' and not exists (
               select from mapping one join mapping two using (company_id)
               where one.partner_id = mine.partner_id and two.partner_id = other.partner_id)))
      returning found.row_id
    )
    update acceptance set checked_hash = null
    where row_id in (select row_id from outdated) and checked_hash is not null`.execute(trx)
}

/**
 * The rows to judge: the table `newcomer`, with what they are about. New is what the service has never accepted, or
 * what was gone: nobody compared it with what came meanwhile.
 */
async function collectCandidates(trx: Transaction<Schema>, basis: number | null): Promise<number> {
  const columns = sql`
    row_id, stream, partner_id, ${target(sql`row`)} as target, ${period(sql`row`)} as period,
    judged_by <= 0 and (accepted_at is null or outcome_code is not distinct from 'row_returned') as is_new`
  await sql`
    create temp table newcomer on commit drop as
    select ${columns} from ledger row where ${neverJudged}
    ${
      basis === null
        ? sql``
        : sql`union all select ${columns} from ledger row
      where ${judgedOtherwise(basis)}`
    }`.execute(trx)
  await sql`analyze newcomer`.execute(trx)
  const { rows } = await sql<{ candidates: number }>`select count(*) as candidates from newcomer`.execute(trx)
  return rows[0]?.candidates ?? 0
}

/** The other partner ids that are confirmed for the company of a newcomer's hotel: the table `namesake`. */
async function findNamesakes(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table namesake on commit drop as
    select own.partner_id, two.partner_id as other_id
    from (select distinct partner_id from newcomer) own
    join mapping one on one.partner_id = own.partner_id
    join mapping two on two.company_id = one.company_id and two.partner_id <> one.partner_id`.execute(trx)
  await sql`analyze namesake`.execute(trx)
}

/** What an answer says, however its number is written. */
const said = (row: Fragment) => sql`
  concat_ws(' ', coalesce(trim_scale(numeric_reading(${row}.content ->> 'value'))::text, ${row}.content ->> 'value'),
            lower(${row}.content ->> 'unit_id'))`

/**
 * The same data point, hotel and period under two frameworks, or with ids in another case, with different values: one
 * would overwrite the other.
 */
async function pairFrameworks(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table meeting on commit drop as
    select newcomer.row_id as one, answer.row_id as other
    from newcomer
    join answer on answer.partner_id = newcomer.partner_id and answer.data_point = newcomer.target
      and answer.period = newcomer.period and answer.row_id <> newcomer.row_id
    where newcomer.stream = 'framework_answers'`.execute(trx)
  await sql`analyze meeting`.execute(trx)
  await sql`
    insert into pair
    select distinct least(one, other), greatest(one, other), 'two_frameworks'
    from meeting
    join source_row mine on mine.row_id = one
    join source_row theirs on theirs.row_id = other
    where concat_ws(' ', mine.content ->> 'framework_id', mine.content ->> 'data_point_id')
        <> concat_ws(' ', theirs.content ->> 'framework_id', theirs.content ->> 'data_point_id')
      and ${said(sql`mine`)} <> ${said(sql`theirs`)}`.execute(trx)
  await sql`drop table meeting`.execute(trx)
}

/** What rows say by name, in streams where a blank takes back what is there; names are one in capitals or not. */
const parts = (row: Fragment) => sql`(
  select lower(part.name) as name, max(part.value) filter (where btrim(part.value, e' \\t\\r\\n') <> '') as value
  from jsonb_each_text(case ${row}.stream when 'calculator_inputs' then ${row}.content -> 'inputs'
                         else jsonb_build_object('', ${row}.content -> 'value') end) as part(name, value)
  group by 1)`

/**
 * Two partner ids that are confirmed for one company, whose rows write the same thing with different values. Where one
 * of them is blank it is at fault alone: it would delete what the other says.
 */
async function pairPartnerIds(trx: Transaction<Schema>, carried: readonly string[]): Promise<void> {
  const sought = sql`
    select distinct namesake.other_id as partner_id, newcomer.stream from namesake join newcomer using (partner_id)`
  await gather(trx, 'rival', sought, sql`${thing(sql`row`)} as thing`, carried)
  await sql`
    create temp table twin on commit drop as
    select newcomer.row_id, row.stream, namesake.other_id, ${thing(sql`row`)} as thing
    from namesake
    join newcomer using (partner_id)
    join source_row row on row.row_id = newcomer.row_id`.execute(trx)
  await sql`analyze twin`.execute(trx)
  await sql`
    create temp table meeting on commit drop as
    select distinct least(twin.row_id, rival.row_id) as one, greatest(twin.row_id, rival.row_id) as other
    from twin
    join rival on rival.partner_id = twin.other_id and rival.stream = twin.stream and rival.thing = twin.thing`.execute(
    trx,
  )
  await sql`analyze meeting`.execute(trx)
  await sql`
    insert into pair
    select one, other, 'two_partner_ids'
    from meeting
    join source_row mine on mine.row_id = one
    join source_row theirs on theirs.row_id = other
    where case mine.stream
      when 'framework_answers' then ${said(sql`mine`)} <> ${said(sql`theirs`)}
      when 'standard_holders' then mine.content - 'standard_id' <> theirs.content - 'standard_id'
      when 'calculator_settings' then exists (
        select from jsonb_each_text(mine.content) as own(name, value)
        where own.value <> theirs.content ->> own.name)
      else false end`.execute(trx)
  await sql`
    insert into pair
    select case when mine_wrong then one else other end, case when mine_wrong then other else one end,
           'two_partner_ids', not (mine_wrong and theirs_wrong)
    from meeting
    join source_row mine on mine.row_id = one
    join source_row theirs on theirs.row_id = other
    cross join lateral (
      select bool_or(own.value is distinct from others.value and others.value is not null) as mine_wrong,
             bool_or(own.value is distinct from others.value and own.value is not null) as theirs_wrong
      from ${parts(sql`mine`)} own join ${parts(sql`theirs`)} others using (name)
    ) judged
    where mine.stream in ('custom_property_values', 'calculator_inputs') and (mine_wrong or theirs_wrong)`.execute(trx)
  await sql`drop table rival, twin, meeting`.execute(trx)
}

/**
 * Partner ids of properties that are new here and differ from another's by case or surrounding white space alone: a
 * warning.
 */
async function noteAlike(trx: Transaction<Schema>): Promise<void> {
  const plain = (row: Fragment) => sql`lower(btrim(${row}.partner_id, e' \t\n\r'))`
  await sql`
    insert into row_finding as known (row_id, kind, other_row_id, detail)
    select distinct on (newcomer.row_id) newcomer.row_id, 'partner_ids_alike', other.row_id,
           format('partner_id ''%s'' differs from ''%s'' by case or surrounding white space alone: are they one hotel?',
                  newcomer.partner_id, other.partner_id)
    from newcomer
    join source_row other on ${plain(sql`other`)} = ${plain(sql`newcomer`)} and other.partner_id <> newcomer.partner_id
    where newcomer.stream = 'properties' and newcomer.is_new and other.stream = 'properties' and other.gone_at is null
    order by newcomer.row_id, other.row_id
    on conflict (row_id, kind) do nothing`.execute(trx)
}

/**
 * Whether `other` has, and will have, written nothing over what the service took of a row that is sent again. What was
 * accepted, is on its way, went to an end that nobody knows, or was rejected without proof may have; so may a value
 * that goes out beside a blank, which loses to it alone. One that is invalid by this night's basis does not go out.
 */
const wroteNothing = (basis: number) => sql<boolean>`(
  other.pending and other.held_by is null and other.perhaps_taken_at is null
    and not ${isSentAgain(sql`other`)}
    and (not one_sided or (not other.unjudged and other.invalid_reason is not null
      and other.judged_by in (${basis}, ${notCompared(basis)}))))`

/** Both rows of each pair that are pending, with the reason in words; those already judged are to be judged again. */
async function storeContradictions(trx: Transaction<Schema>, basis: number): Promise<number> {
  await sql`
    delete from row_finding using newcomer
    where row_finding.row_id = newcomer.row_id and kind in (${contradictionKinds})`.execute(trx)
  const { rows } = await sql<{ found: number }>`
    with side as (
      select one as row_id, other as other_row_id, kind, one_sided from pair
      union all
      select other, one, kind, false from pair where not one_sided
    ),
    found as (
      select distinct on (mine.row_id, kind) mine.row_id, kind, other.row_id as other_row_id,
             mine.desired_hash as row_hash, other.desired_hash as other_hash,
             case kind
               when 'two_partner_ids' then format(
                 '%s is confirmed for the same company and %s (row %s): '
                 'leave one of the two hotels out, or make them agree',
                 other.partner_id,
                 case when one_sided then 'has a value where this row is blank, which would delete it'
                      when mine.stream = other.stream then 'says something else of the same thing'
                      when mine.stream = 'omissions' then 'answers the question for the same period'
                      else 'declines its question for the same period' end,
                 other.row_key)
               when 'two_spellings' then format(
                 'it says something else than row %s, whose id is the same, in capitals or in small letters: '
                 'they must agree', other.row_key)
               when 'two_frameworks' then format(
                 'data point %s is ''%s'' here and ''%s'' under %s for the same period (row %s): they must agree',
                 mine.content ->> 'data_point_id', left(mine.content ->> 'value', 60),
                   left(other.content ->> 'value', 60),
                 coalesce('framework ' || (other.content ->> 'framework_id'), 'no framework'), other.row_key)
               else case mine.stream
                 when 'omissions' then format(
                   'the question is answered for the same period: data point %s is ''%s'' '
                   '(row %s of framework_answers): keep one of the two',
                   other.content ->> 'data_point_id', left(other.content ->> 'value', 60), other.row_key)
                 else format(
                   'its question %s is declined for the same period (row %s of omissions): keep one of the two',
                   other.content ->> 'question_id', other.row_key) end
             end as detail
      from side
      join ledger mine on mine.row_id = side.row_id
      join ledger other on other.row_id = side.other_row_id
      where mine.pending and mine.gone_at is null
        and not (${isSentAgain(sql`mine`)} and ${wroteNothing(basis)})
      order by mine.row_id, kind, other.row_id
    ),
    stored as (
      insert into row_finding (row_id, kind, other_row_id, row_hash, other_hash, detail)
      select row_id, kind, other_row_id, row_hash, other_hash, detail from found
      on conflict (row_id, kind) do update
      set other_row_id = excluded.other_row_id, row_hash = excluded.row_hash, other_hash = excluded.other_hash,
          detail = excluded.detail
      returning row_id
    ),
    reopened as (
      update acceptance set checked_hash = null
      where row_id in (select row_id from stored) and checked_hash is not null
    )
    select count(distinct row_id) as found from stored`.execute(trx)
  return rows[0]?.found ?? 0
}
