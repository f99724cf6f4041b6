import { saidTables } from '../init/said-tables.ts'
import { type Said, suggestStreams } from '../init/suggest-streams.ts'
import { isReady } from '../init/written-config.ts'
import type { PartnerTable } from '../partner/examination.ts'
import type { Prompter } from './prompter.ts'

/**
 * What a person says of the tables: by flags, and of the hotels on a terminal where names do not tell their table.
 * @param prompter null where nobody can be asked.
 */
export async function askedTables(
  { table: tableFlags = [], column: columnFlags = [] }: { table?: string[]; column?: string[] },
  tables: readonly PartnerTable[],
  prompter: Pick<Prompter, 'choose'> | null,
): Promise<Said> {
  const said = saidTables(tableFlags, columnFlags, tables)
  if (prompter === null || said.properties !== undefined || tables.length === 0) return said
  const guessed = suggestStreams(tables, said).properties
  if (isReady(guessed)) return said
  const named = tables.map((one) => ({ name: nameOf(one), one }))
  const table = guessed?.table ?? (await prompter.choose('Which table has your hotels, one row for each?', named)).one
  const columnFor = async (what: string) =>
    (await prompter.choose(`Which column of ${nameOf(table)} is ${what}?`, table.columns)).name
  const columns: Record<string, string> = { partner_id: await columnFor('the id that you know a hotel by') }
  const found = { ...said, properties: { table, columns } }
  // A hotel needs something beside its id by which the service can find it.
  if (!isReady(suggestStreams(tables, found).properties)) columns.name = await columnFor('its name')
  return found
}

/** The name of a table, with its schema where there is one. */
export function nameOf({ schema, name }: PartnerTable): string {
  return schema === null ? name : `${schema}.${name}`
}
