import { sql } from 'kysely'

/** The kinds of finding that make a row invalid, in the words of the index `row_finding_contradiction`. */
export const contradictionKinds = sql`'answered_and_declined', 'two_frameworks', 'two_partner_ids'`
