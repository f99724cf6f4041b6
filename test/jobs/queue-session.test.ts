import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { atWork, ended, ending, engineOf, ferry, jobOf, trigger, withEngines } from './working-engine.ts'

withEngines()

it('the queue of a server that isolates transactions otherwise works with the isolation that it is made for', async () => {
  const { db } = ferry.ledger
  // Makes the tables of the queue.
  await (await engineOf()).stop()
  await sql`
    create table isolation_seen (level text not null);
    create function note_isolation() returns trigger language plpgsql as $$ begin
      insert into nightferry.isolation_seen select current_setting('transaction_isolation')
      where current_setting('application_name') like 'nightferry queue%';
      return null;
    end $$;
    do $$ begin
      execute format('create trigger note after update on nightferry_queue.job_common
                      for each statement execute function nightferry.note_isolation()');
      execute format('alter database %I set default_transaction_isolation = serializable', current_database());
    end $$`.execute(db)
  await using deps = await atWork(jobOf(ending))
  await trigger(deps, jobOf(ending))
  expect(await ended()).toMatchObject({ state: 'finished' })
  const { rows } = await sql`select distinct level from isolation_seen`.execute(db)
  expect(rows).toEqual([{ level: 'read committed' }])
})
