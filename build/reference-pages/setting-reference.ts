import { namedVariables, variableOf } from '../../src/config/environment.ts'
import { secretPaths } from '../../src/config/schema.ts'
import { configJsonSchema, type JsonSchema } from '../../src/config/setting-paths.ts'
import { blocks, code, sentence } from './markdown.ts'

/** Every setting with its meaning, default, range and variable, as it stands in docs/settings.md. */
export function settingReference(): string {
  const { properties = {} } = configJsonSchema()
  return blocks(
    Object.entries(properties).map(([name, section]) =>
      blocks([`## ${code(name)}`, sentence(section.description ?? ''), ...partsOf(name, section)]),
    ),
  )
}

function partsOf(path: string, { properties, additionalProperties, required = [] }: JsonSchema): string[] {
  if (properties === undefined) {
    // The streams: what each is called is the person's to say.
    if (typeof additionalProperties !== 'object') return []
    return partsOf(`${path}.<name>`, additionalProperties)
  }
  return Object.entries(properties).flatMap(([key, child]) => {
    const inner = `${path}.${key}`
    if (child.properties !== undefined) return partsOf(inner, child)
    return [settingPart(inner, child, required.includes(key))]
  })
}

function settingPart(path: string, schema: JsonSchema, required: boolean): string {
  const { items } = schema
  const entries = Object.entries(items?.properties ?? {}).map(
    ([name, entry]) =>
      `- ${code(name)}: ${[sentence(entry.description ?? ''), ...facts(entry, items?.required?.includes(name) === true)].join(' ')}`,
  )
  return blocks([
    `### ${code(path)}`,
    sentence(schema.description ?? ''),
    [...facts(schema, required), ...ways(path)].join(' '),
    ...(entries.length === 0 ? [] : ['Each entry has these members:', entries.join('\n')]),
  ])
}

/** What a setting may be, and what it is when nobody says it. */
function facts(schema: JsonSchema, required: boolean): string[] {
  return [
    ...(required ? ['Required.'] : []),
    ...(schema.default === undefined ? [] : [`Default: ${code(JSON.stringify(schema.default))}.`]),
    ...ruling(schema).flatMap(rangeOf),
  ]
}

/** The parts of a schema that limit its values: a choice beside other texts limits nothing. */
function ruling(schema: JsonSchema): JsonSchema[] {
  const choices = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  return choices.length > 1 ? [schema] : [schema, ...choices]
}

function rangeOf({ enum: choices, minimum, maximum = Number.MAX_SAFE_INTEGER }: JsonSchema): string[] {
  if (choices !== undefined) return [`One of ${choices.map((choice) => code(String(choice))).join(', ')}.`]
  if (minimum === undefined) return []
  return [
    maximum < Number.MAX_SAFE_INTEGER
      ? `From ${inWords(minimum)} to ${inWords(maximum)}.`
      : `At least ${inWords(minimum)}.`,
  ]
}

function inWords(number: number): string {
  return number.toLocaleString('en-GB')
}

/** How a setting can be given besides in the file. */
function ways(path: string): string[] {
  if (path.includes('<')) return []
  const short = Object.entries(namedVariables).find(([, setting]) => setting === path)?.[0]
  const variables = short === undefined ? [variableOf(path)] : [short, variableOf(path)]
  const secret = (secretPaths as readonly string[]).includes(path)
  return [
    `Variable: ${variables.map(code).join(' or ')}.`,
    ...(secret
      ? [
          'With the ending `_FILE` it names a file that holds the value.',
          'Nightferry hides the value where it shows the configuration, and refuses it as a flag.',
        ]
      : []),
  ]
}
