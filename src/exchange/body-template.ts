/** What a column's text becomes in the body. */
const columnTypes = ['text', 'number', 'boolean', 'json'] as const
export type ColumnType = (typeof columnTypes)[number]

/** The settings that a body may contain: what names our companies to the service. Never a secret. */
const templateSettings = ['customIdentifierId', 'groupId'] as const
export type TemplateSetting = (typeof templateSettings)[number]

export type ColumnPlaceholder = { is: 'column'; column: string; as: ColumnType; optional: boolean }
type SettingPlaceholder = { is: 'setting'; setting: TemplateSetting; optional: boolean }

/** A JSON value with holes: what is written by hand stands as it is, a placeholder takes a value of the row. */
export type BodyTemplate =
  | { is: 'literal'; value: string | number | boolean | null }
  | ColumnPlaceholder
  | SettingPlaceholder
  | { is: 'object'; members: readonly (readonly [name: string, value: BodyTemplate])[] }
  | { is: 'list'; items: readonly BodyTemplate[] }

export type ObjectTemplate = Extract<BodyTemplate, { is: 'object' }>

export type TemplateProblem = { path: (string | number)[]; message: string }

/** What `$column` may name in a part of a body, and where problems go. */
type TemplateScope = { columns: readonly string[]; problems: TemplateProblem[] }

type Path = (string | number)[]

/**
 * Reads a template as the contract file holds it. Text is never searched for placeholders: one is an object with
 * `$column` or `$setting`, so whatever a value says, it stays a value.
 *
 * What is wrong is added to the scope's problems, with its path; the template is of use only if nothing is.
 */
function readTemplate(value: unknown, path: Path, scope: TemplateScope, above: readonly unknown[] = []): BodyTemplate {
  const read = (entry: unknown, at: string | number) => readTemplate(entry, [...path, at], scope, [...above, value])
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return { is: 'literal', value }
  if (typeof value === 'number') {
    const kept = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
    return kept ? { is: 'literal', value } : wrong(scope, path, 'is no number that JSON keeps as it is')
  }
  if (typeof value !== 'object') return wrong(scope, path, 'is neither a value, a list nor an object')
  // What an alias of YAML can do.
  if (above.includes(value)) return wrong(scope, path, 'contains itself')
  if (Array.isArray(value)) return { is: 'list', items: value.map(read) }
  const members = Object.entries(value)
  const marked = members.some(([name]) => name.startsWith('$'))
  if (marked) return readPlaceholder(Object.fromEntries(members), path, scope)
  return { is: 'object', members: members.map(([name, entry]) => [name, read(entry, name)] as const) }
}

/** The same for a part of a body that must be an object. */
export function readObjectTemplate(value: unknown, path: Path, scope: TemplateScope): ObjectTemplate {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const template = readTemplate(value, path, scope)
    if (template.is !== 'column' && template.is !== 'setting') return asObject(template)
  }
  wrong(scope, path, 'must be an object: the members of one element, or of the body')
  return asObject({ is: 'literal', value: null })
}

/** A template in which something is wrong is never filled. */
function asObject(template: BodyTemplate): ObjectTemplate {
  return template.is === 'object' ? template : { is: 'object', members: [] }
}

/** Every placeholder of a template, from the outside in. */
export function placeholdersOf(template: BodyTemplate): (ColumnPlaceholder | SettingPlaceholder)[] {
  switch (template.is) {
    case 'literal':
      return []
    case 'column':
    case 'setting':
      return [template]
    case 'object':
      return template.members.flatMap(([, value]) => placeholdersOf(value))
    case 'list':
      return template.items.flatMap(placeholdersOf)
    default:
      return template satisfies never
  }
}

function readPlaceholder(value: Record<string, unknown>, path: Path, scope: TemplateScope): BodyTemplate {
  const { $column: column, $setting: setting, as = 'text', optional = false, ...rest } = value
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) {
    return wrong(
      scope,
      [...path, unknown],
      'is no part of a placeholder: $column, as and optional, or $setting and optional',
    )
  }
  if (typeof optional !== 'boolean') return wrong(scope, [...path, 'optional'], 'must be true or false')
  if (setting !== undefined) {
    if (column !== undefined || value.as !== undefined) {
      return wrong(scope, path, 'is a column and a setting at once: a setting stands alone, or with optional')
    }
    const known = templateSettings.find((one) => one === setting)
    if (known !== undefined) return { is: 'setting', setting: known, optional }
    return wrong(
      scope,
      [...path, '$setting'],
      `is none of the settings that a body may hold: ${templateSettings.join(', ')}`,
    )
  }
  const type = columnTypes.find((one) => one === as)
  if (type === undefined) return wrong(scope, [...path, 'as'], `is none of ${columnTypes.join(', ')}`)
  if (typeof column === 'string' && scope.columns.includes(column)) return { is: 'column', column, as: type, optional }
  return wrong(
    scope,
    [...path, '$column'],
    `names no column that can stand here: ${scope.columns.join(', ') || 'none can'}`,
  )
}

function wrong({ problems }: TemplateScope, path: Path, message: string): BodyTemplate {
  problems.push({ path, message })
  return { is: 'literal', value: null }
}
