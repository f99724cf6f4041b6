import type pg from 'pg'

/** Has the sandbox keep what it gets from now on: it forgets the body of a request once its task has ended. */
export async function keepReceivedBodies(sandboxPool: pg.Pool): Promise<void> {
  await sandboxPool.query(`
    create table sandbox.kept_body (task_id uuid primary key, body bytea not null);
    create function sandbox.keep_body() returns trigger language plpgsql as $$ begin
      insert into sandbox.kept_body values (new.task_id, new.body);
      return null;
    end $$;
    create trigger keep_body after insert on sandbox.task_body for each row execute function sandbox.keep_body()`)
}

/** What the request whose line in the request log names a task had as its body. */
export async function receivedBody(sandboxPool: pg.Pool, correlationId: string): Promise<Buffer> {
  const { rows } = await sandboxPool.query<{ body: Buffer }>(
    `select body from sandbox.request_log line join sandbox.kept_body on task_id = line.correlation_id
     where line.correlation_id = $1 and phase = 'received' and method <> 'GET'`,
    [correlationId],
  )
  const [only, ...others] = rows
  if (only === undefined || others.length > 0) throw new Error(`${rows.length} requests became ${correlationId}`)
  return only.body
}
