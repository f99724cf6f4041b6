import { type RawBuilder, sql } from 'kysely'

/**
 * Whether a row was sent in a run as it is. One whose outcome is forgotten, because it is to be sent again, was not; so
 * it is with one that has changed since a request that the run took over carried it. A row has one request at a time,
 * and that of its outcome is the last: one line is looked up, however many nights have sent the row. As the first line
 * from its key on: asked for the row by its number, a planner that knows of few nights would read the lines of all.
 * @param row what the query calls the row of the view `ledger`.
 * @param again whether the request, called `last`, leaves its rows to other requests of the run.
 */
export function wasTried(row: string, runId: number, again: RawBuilder<boolean>): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${row}.${name}`)
  return sql<boolean>`(${column('outcome')} is not null and coalesce((
    -- By the request, not by the run: a run may have thousands of them.
    select last.run_id = ${runId}
      and not (${again})
      and (
        select (submission_id, row_id, sent_hash) = (last.submission_id, ${column('row_id')}, ${column('desired_hash')})
        from submission_row
        where (submission_id, row_id) >= (last.submission_id, ${column('row_id')})
        order by submission_id, row_id
        limit 1)
    from submission last where last.submission_id = ${column('outcome_submission')}), false))`
}
