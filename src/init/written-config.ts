import { type StreamName, streamNames } from '../config/known-names.ts'
import type { Contract } from '../exchange/contract.ts'
import type { PartnerTable } from '../partner/examination.ts'
import { streams } from '../pipeline/streams/our-streams.ts'
import { joinsOf, nameOf, type Suggestion, toldNamesakes } from './suggest-streams.ts'
import type { Named } from './told-to-init.ts'
import { lookupLines, lookupRemarks } from './written-lookups.ts'
import { comparedSearchLines, ownSearchLines } from './written-searches.ts'
import { listed, oneLine, quoted } from './yaml-lines.ts'

/** What a configuration is written from. Holds no secret. */
export type Choices = {
  /** Whether it is for somebody who only reads at the service, and sends nothing. */
  readOnly: boolean
  /** Null: it comes from the environment. */
  baseUrl: string | null
  /** A key that is none, as the sandbox has them; otherwise null. */
  openKey: string | null
  /** The partner's address, if it holds no password; null: it comes from the environment. */
  partnerUrl: string | null
  identifier: Named | null
  identifiers: readonly Named[]
  group: Named | null
  groups: readonly Named[]
  properties: readonly Named[]
  frameworks: readonly Named[]
  /** Null where the service does not list them. */
  fieldTypes: readonly Named[] | null
  standards: readonly Named[] | null
  dialect: Dialect
  /** What the partner's database shows; empty where a configuration is made for a world without one. */
  tables: readonly PartnerTable[]
  suggestions: Readonly<Record<StreamName, Suggestion | null>>
  /** The wire names of the service. */
  contract: Contract
  /** Address of the JSON Schema of the configuration, for editors. */
  schema: string
}

/**
 * A configuration in YAML with what was chosen, the names behind its ids, and a query for each stream. A stream whose
 * query would fail stands in comments, so that the file can be used as it is. Pure.
 */
export function writtenConfig(choices: Choices): string {
  if (choices.readOnly) return readOnlyConfig(choices)
  const ready = streamNames.filter((name) => isReady(choices.suggestions[name]))
  const others = streamNames.filter((name) => !ready.includes(name))
  return [
    `# yaml-language-server: $schema=${choices.schema}`,
    '#',
    '# Written by nightferry init. Secrets stay in the environment: EXCHANGE_API_KEY, and PARTNER_DATABASE_URL if it holds a',
    '# password. docs/settings.md explains every setting, docs/streams.md every column.',
    '',
    ...exchangeLines(choices),
    ...partnerLines(choices),
    ...pullLines(choices),
    ...comparedSearchLines(choices, ready),
    '',
    ...jobLines('nightly-sync'),
    '',
    '# What is read from your database. A query yields the columns of its stream by these names, and the cursor.',
    ...namesLines(choices),
    ...tableLines(choices),
    ...lookupLines,
    ready.length === 0 ? 'streams: {}' : 'streams:',
    ...ready.flatMap((name) => streamLines(name, choices, ready.includes('properties'))),
    ...others.flatMap((name) => ['', ...commented(streamLines(name, choices, true))]),
    '',
  ].join('\n')
}

/** The same for somebody who sends nothing: there is no identifier, no database and no stream. */
function readOnlyConfig(choices: Choices): string {
  return [
    `# yaml-language-server: $schema=${choices.schema}`,
    '#',
    '# Written by nightferry init --read-only: nothing is sent, and no database of yours is read. The key stays in the',
    '# environment: EXCHANGE_API_KEY. docs/settings.md explains every setting.',
    '',
    'exchange:',
    ...serviceLines(choices),
    '',
    ...pullLines(choices),
    ...ownSearchLines(choices),
    '',
    ...jobLines('pull-calculators'),
    '',
    '# What would be sent: docs/streams.md. Without a stream no job reads a database or sends.',
    'streams: {}',
    '',
  ].join('\n')
}

function pullLines({ properties }: Choices): string[] {
  return [
    'pull:',
    '  # Custom properties to bring back with each company.',
    ...listed(properties),
    `  customPropertyIds: [${properties.map(({ id }) => quoted(id)).join(', ')}]`,
  ]
}

function jobLines(job: string): string[] {
  return [
    'jobs:',
    `  ${job}:`,
    '    # For nightferry serve: cron, such as "30 2 * * *" for half past two every night; null: only by hand.',
    '    schedule: null',
    '    timeZone: UTC',
    '  # Removes what is older than it has to be kept (docs/service.md), beside the other jobs: on Sundays at noon.',
    '  housekeeping:',
    '    schedule: "0 12 * * 0"',
    '    timeZone: UTC',
  ]
}

/** Whether a query over the suggested table yields what the stream cannot do without. Pure. */
export function isReady(suggestion: Suggestion | null): boolean {
  return suggestion !== null && suggestion.missing.length === 0
}

function serviceLines({ baseUrl, openKey }: Choices): string[] {
  return [
    baseUrl === null ? '  # baseUrl: from EXCHANGE_BASE_URL' : `  baseUrl: ${quoted(baseUrl)}`,
    openKey === null ? '  # apiKey: from EXCHANGE_API_KEY, or EXCHANGE_API_KEY_FILE' : `  apiKey: ${quoted(openKey)}`,
  ]
}

function exchangeLines(choices: Choices): string[] {
  const { identifier, identifiers, group, groups } = choices
  return [
    'exchange:',
    ...serviceLines(choices),
    '  # The custom property that holds your ids. Identifiers of the profile:',
    ...listed(identifiers),
    `  customIdentifierId: ${identifier === null ? 'null' : quoted(identifier.id)}`,
    '  # The group that holds your companies; calculators need it. Groups of the profile:',
    ...listed(groups),
    `  groupId: ${group === null ? 'null' : quoted(group.id)}`,
    '',
  ]
}

function partnerLines({ partnerUrl }: Choices): string[] {
  if (partnerUrl === null) return ['# partner.url: from PARTNER_DATABASE_URL', '']
  return ['partner:', `  url: ${quoted(partnerUrl)}`, '']
}

function namesLines({ frameworks, fieldTypes, standards }: Choices): string[] {
  const fields =
    fieldTypes === null || fieldTypes.length === 0
      ? [
          '# The service lists field types nowhere. Once calculators came back, their names and ids are in calculator_variables:',
          '#   nightferry sql "select name, variable_id from calculator_variables order by name"',
        ]
      : ['# Field types (field_type_id of calculator_inputs):', ...listed(fieldTypes, '#   ')]
  return [
    '# Frameworks (framework_id of framework_answers; nightferry reference lists them once a run has begun):',
    ...listed(frameworks, '#   '),
    ...fields,
    ...(standards === null ? [] : ['# Standards (standard_id of standard_holders):', ...listed(standards, '#   ')]),
  ]
}

/** So many tables are shown, and of each so many columns: a file that people read. */
const [mostTables, mostColumns] = [100, 40]

/** The partner's tables with their columns, so that a query can be written with nothing else open. */
function tableLines({ tables }: Choices): string[] {
  if (tables.length === 0) return []
  const shown = tables.slice(0, mostTables).map((table) => {
    const { columns } = table
    const listed = columns.slice(0, mostColumns).map((column) => oneLine(`${column.name} ${column.type}`.trim()))
    const rest = columns.length - listed.length
    const more = rest > 0 ? `, and ${rest} more` : ''
    return `# - ${oneLine(nameOf(table))} (${listed.join(', ')}${more})`
  })
  const left = tables.length - shown.length
  return ['# Your tables and views:', ...shown, ...(left > 0 ? [`# - and ${left} more`] : [])]
}

function streamLines(name: StreamName, { suggestions, dialect, tables }: Choices, withProperties: boolean): string[] {
  const suggestion = suggestions[name]
  const { about } = streams[name]
  const remark =
    suggestion === null
      ? ['# TODO: no table looked like it. Write its query, and take the comment signs away.']
      : [...remarksOf(suggestion), ...toldNamesakes(suggestion, tables).map((words) => `# ${words}. Please check.`)]
  const query = suggestion === null ? emptyQuery(name) : queryOf(suggestion, dialect)
  return [
    `  ${name}:`,
    ...[`# ${plainWords(about)}`, ...remark].map((line) => `    ${oneLine(line)}`),
    // A name with a line break would end the block.
    ...(query.some((line) => oneLine(line) !== line)
      ? [`    query: ${JSON.stringify(query.join('\n'))}`]
      : ['    query: |', ...query.map((line) => `      ${line}`)]),
    ...readingLines(suggestion, dialect).map((line) => `    ${line}`),
    ...(name === 'properties' || !withProperties ? [] : ['    requires: [properties]']),
  ]
}

/** How a stream is read, and why by snapshot. */
function readingLines(suggestion: Suggestion | null, dialect: Dialect): string[] {
  const cursor = suggestion === null ? 'updated_at' : suggestion.cursor
  if (cursor !== null) return [`cursor: ${quoted(cursor)}`]
  const why =
    suggestion !== null && joinsOf(suggestion.columns).length > 0
      ? [
          '# The query joins tables, and no time of one shows a change in another, so all rows are read and compared each time.',
          ...latestLines(dialect),
        ]
      : ['# No column looked like the time of the last change, so all rows are read and compared each time.']
  return [...why, 'capture: snapshot']
}

/** What can be the cursor over joined tables, as the database computes it. SQL Server before 2022 has no GREATEST. */
function latestLines(dialect: Dialect): string[] {
  if (dialect === 'sqlserver') {
    return [
      '# If each of them has a time of its last change, the latest of these can be the cursor: docs/streams.md. That is',
      '# (select max(at) from (values (t.updated_at), (j1.updated_at)) times (at)), with the columns that you have.',
    ]
  }
  const latest = dialect === 'sqlite' ? 'max' : 'greatest'
  return [
    `# If each of them has a time of its last change, the ${latest}(…) of these can be the cursor: docs/streams.md.`,
  ]
}

function remarksOf({ table, missing, columns }: Suggestion): string[] {
  const from = nameOf(table)
  if (missing.length > 0) {
    return [
      `# TODO: ${from} looked most like it, and ${missing.join(', ')} was not found. Put in what belongs there, and take the`,
      '# comment signs away.',
      ...lookupRemarks(missing),
    ]
  }
  const guessed = Object.entries(columns).filter(([name, { column }]) => name !== column)
  const words = guessed.map(([name, { column }]) => `${column} for ${name}`).join(', ')
  return [`# Guessed by the names of columns of ${from}${words === '' ? '' : `: ${words}`}. Please check.`]
}

function commented(lines: readonly string[]): string[] {
  return lines.map((line) => `# ${line}`.trimEnd())
}

function plainWords(markdown: string): string {
  return oneLine(markdown.replaceAll('`', ''))
}

type Dialect = 'postgres' | 'mysql' | 'sqlserver' | 'sqlite'

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
  const joins = joinsOf(columns)
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
function emptyQuery(stream: StreamName): string[] {
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

function tableName({ schema, name }: PartnerTable, dialect: Dialect): string {
  const parts = schema === null ? [name] : [schema, name]
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
