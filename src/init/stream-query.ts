import type { StreamName } from '../config/stream-names.ts'
import type { PartnerTable } from '../partner/examination.ts'
import { streams } from '../pipeline/streams/our-streams.ts'
import type { Suggestion } from './suggest-streams.ts'

export type Dialect = 'postgres' | 'mysql' | 'sqlserver' | 'sqlite'

/** The dialect of an address. Pure. */
export function dialectOf(url: string): Dialect {
  const scheme = url.slice(0, url.indexOf(':')).toLowerCase()
  if (scheme === 'file') return 'sqlite'
  if (scheme === 'mysql' || scheme === 'mariadb') return 'mysql'
  return scheme === 'sqlserver' || scheme === 'mssql' ? 'sqlserver' : 'postgres'
}

/** What stands in a query where only a person can say what belongs there; no database knows a column of this name. */
const todo = 'TODO'

/**
 * The query of a stream over the table that was suggested for it, in lines. What may be null and was not found is null;
 * what was not found and may not be is a TODO. Pure.
 */
export function queryOf(suggestion: Suggestion, dialect: Dialect): string[] {
  const { stream, table, columns, cursor } = suggestion
  const joins = [
    ...new Map(
      Object.values(columns)
        .flatMap(({ join }) => (join === null ? [] : [...(join.via === undefined ? [] : [join.via]), join]))
        .map((join) => [join.table, join] as const),
    ).values(),
  ]
  const aliases = new Map<PartnerTable, string>([
    [table, 't'],
    ...joins.map((join, at) => [join.table, `j${at + 1}`] as const),
  ])
  const quoted = (name: string) => quotedName(name, dialect)
  const at = (of: PartnerTable, column: string) => `${aliases.get(of) ?? 't'}.${quoted(column)}`
  const selected = Object.keys(streams[stream].columns).map((name) => {
    const found = columns[name]
    if (found === undefined) return `${absent(suggestion, name, at)} as ${name}`
    const place = at(found.join?.table ?? table, found.column)
    const value = name.endsWith('_date') && /time/i.test(found.type) ? `cast(${place} as date)` : place
    return value.endsWith(`.${name}`) ? value : `${value} as ${name}`
  })
  if (cursor !== null) selected.push(at(table, cursor))
  return [
    ...inLines(selected),
    `from ${tableName(table, dialect)} t`,
    ...joins.map(
      (join) =>
        `join ${tableName(join.table, dialect)} ${aliases.get(join.table)} on ${at(join.table, join.to)} = ${at(join.via?.table ?? table, join.from)}`,
    ),
  ]
}

/** The query of a stream of which nothing is known, in lines. Pure. */
export function emptyQuery(stream: StreamName): string[] {
  return [
    ...inLines(
      Object.keys(streams[stream].columns)
        .map((name) => `${todo} as ${name}`)
        .concat('updated_at'),
    ),
    `from ${todo}`,
  ]
}

function absent(
  { missing, columns, table }: Suggestion,
  name: string,
  at: (table: PartnerTable, column: string) => string,
): string {
  if (missing.includes(name)) return todo
  if (name !== 'period_type') return 'null'
  const { month } = columns
  return month === undefined
    ? "'Yearly'"
    : `case when ${at(month.join?.table ?? table, month.column)} is null then 'Yearly' else 'Monthly' end`
}

const widest = 96

function inLines(selected: readonly string[]): string[] {
  const lines = ['select ']
  for (const [index, word] of selected.entries()) {
    const piece = index === selected.length - 1 ? word : `${word}, `
    if ((lines.at(-1) ?? '').length + piece.length > widest) lines.push('       ')
    lines.push(`${lines.pop() ?? ''}${piece}`)
  }
  return lines.map((line) => line.trimEnd())
}

const ownSchemas = ['public', 'dbo']

function tableName({ schema, name }: PartnerTable, dialect: Dialect): string {
  const parts = schema === null || ownSchemas.includes(schema) ? [name] : [schema, name]
  return parts.map((part) => quotedName(part, dialect)).join('.')
}

/** Words that stand in queries and would be read as such. */
const reserved =
  /^(order|group|user|table|select|from|where|key|index|level|check|default|desc|references|limit|end|to)$/

function quotedName(name: string, dialect: Dialect): string {
  const isBare = dialect === 'postgres' ? /^[a-z_][a-z0-9_]*$/ : /^[a-z_][a-z0-9_]*$/i
  if (isBare.test(name) && (!reserved.test(name) || name === 'level')) return name
  if (dialect === 'mysql') return `\`${name.replaceAll('`', '``')}\``
  if (dialect === 'sqlserver') return `[${name.replaceAll(']', ']]')}]`
  return `"${name.replaceAll('"', '""')}"`
}
