import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { z } from 'zod'
import { readYaml, YamlError } from '../read-yaml.ts'
import { ConfigError, type ConfigProblem, interpolate, variableOf, variablesWithFile } from './environment.ts'
import { type Config, isOurStream, type StreamName, secretPaths, settings, streamNames } from './schema.ts'
import { leafPaths, likelySetting, meant, nearestName, valueFromText } from './setting-paths.ts'

export type ConfigSources = {
  /** Configuration file; null: defaults, environment and flags only. */
  file: string | null
  environment: Readonly<Record<string, string | undefined>>
  /** `path=value` settings from the command line; they win over everything. */
  overrides?: readonly string[]
  /** The streams that a contract file adds to ours; null: the file that comes with Nightferry. */
  addedStreams?: (contract: string | null) => AddedStreams
}

/**
 * Loads the configuration: flag over environment over file over default.
 * @throws {ConfigError} with every problem found and its path.
 */
export function loadConfig({ file, environment, overrides = [], addedStreams = () => ({}) }: ConfigSources): Config {
  const problems: ConfigProblem[] = []
  const document = file === null ? {} : readDocument(file)
  const merged = interpolate(document, { environment, problems, convert: valueFromText }) as Record<string, unknown>
  const variables = new Map<string, string>()
  for (const [path, text, variable] of fromEnvironment(environment, problems)) {
    setAt(merged, path, valueFromText(path, text))
    variables.set(path, variable)
  }
  for (const [path, text] of fromFlags(overrides, problems)) {
    setAt(merged, path, valueFromText(path, text))
    variables.delete(path)
  }
  problems.push(...joinAddedStreams(merged, addedStreams), ...unknownLookups(merged))
  placeLookups(merged, file)

  const checked = settings.safeParse(merged)
  if (!checked.success) {
    // A reference that was not resolved is told once, not also for what its text is not.
    const told = new Set(problems.map(({ path }) => path))
    problems.push(
      ...checked.error.issues
        .map((issue) => problemOf(issue, merged))
        .filter(({ path }) => !told.has(path))
        .map((problem) => withVariable(problem, variables)),
    )
  }
  if (!checked.success || problems.length > 0) {
    throw new ConfigError(`The configuration ${file === null ? '' : `in ${file} `}cannot be used:`, problems)
  }
  return checked.data
}

/** The file may well be right about a setting that a variable replaces: what is wrong is told with its variable. */
function withVariable({ path, message }: ConfigProblem, variables: ReadonlyMap<string, string>): ConfigProblem {
  const [, variable] = [...variables].find(([set]) => path === set || path.startsWith(`${set}.`)) ?? []
  return { path, message: variable === undefined ? message : `${message} (set by ${variable})` }
}

function readDocument(file: string): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError('The configuration cannot be read:', [{ path: file, message: (error as Error).message }])
  }
  const value = documentIn(text, file)
  const cycle = aliasCycle(value)
  if (cycle !== null) {
    throw new ConfigError('The configuration is no valid YAML:', [
      { path: `${file}: ${cycle}`, message: 'an alias refers to a mapping or list that it is itself a part of' },
    ])
  }
  if (value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new ConfigError('The configuration cannot be used:', [
      { path: file, message: 'must be a mapping of settings' },
    ])
  }
  return value as Record<string, unknown>
}

function documentIn(text: string, file: string): unknown {
  try {
    return readYaml(text)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    const broken = error.faults.map(({ at, message }) => ({
      path: at === null ? file : `${file}:${at.line}:${at.column}`,
      message,
    }))
    throw new ConfigError('The configuration is no valid YAML:', broken)
  }
}

function* fromEnvironment(
  environment: ConfigSources['environment'],
  problems: ConfigProblem[],
): Generator<[path: string, text: string, variable: string]> {
  for (const path of leafPaths()) {
    const variable = variableOf(path)
    const text = environment[variable]
    if (text !== undefined && text !== '') yield [path, text, variable]
  }
  for (const [path, message] of Object.entries(removedSettings)) {
    const variable = variableOf(path)
    if (environment[variable]) problems.push({ path, message: `${variable}: ${message}` })
  }
  problems.push(...misspelt(environment))
  for (const [variable, path] of variablesWithFile()) {
    const file = environment[`${variable}_FILE`] ?? ''
    const text = environment[variable] ?? ''
    if (file !== '' && text !== '') {
      problems.push({ path, message: `${variable} and ${variable}_FILE are both set; unset one of them` })
    } else if (file !== '') {
      try {
        const held = readFileSync(file, 'utf8').trim()
        // Without its secret a part would be left out that somebody wants.
        if (held === '') problems.push({ path, message: `${variable}_FILE: ${file} is empty` })
        else yield [path, held, `${variable}_FILE`]
      } catch (error) {
        // The system's words quote the name of the file, and the secret itself may stand in its place by mistake.
        const { code } = error as NodeJS.ErrnoException
        problems.push({ path, message: `${variable}_FILE: the file that it names cannot be read (${code})` })
      }
    } else if (text !== '') yield [path, text, variable]
  }
}

/**
 * Variables that set nothing, and that look as if they were to set something. Others may have variables of this prefix
 * too.
 */
function misspelt(environment: ConfigSources['environment']): ConfigProblem[] {
  const known = [
    ...[...leafPaths(), ...Object.keys(removedSettings)].map(variableOf),
    ...secretPaths.map((path) => `${variableOf(path)}_FILE`),
  ]
  return Object.keys(environment)
    .filter((name) => name.startsWith('NIGHTFERRY_') && !known.includes(name) && environment[name] !== '')
    .flatMap((name) => {
      const near = nearestName(
        name.slice('NIGHTFERRY_'.length),
        known.map((other) => other.slice('NIGHTFERRY_'.length)),
      )
      return near === null ? [] : [{ path: name, message: `sets nothing${meant(`NIGHTFERRY_${near}`)}` }]
    })
}

function* fromFlags(overrides: readonly string[], problems: ConfigProblem[]): Generator<[string, string]> {
  const known = new Set(leafPaths())
  for (const override of overrides) {
    const separator = override.indexOf('=')
    const path = override.slice(0, Math.max(separator, 0))
    const removed = removedSettings[path]
    if (removed !== undefined) {
      problems.push({ path, message: removed })
    } else if (!known.has(path)) {
      const likely = likelySetting(path)
      problems.push({
        path: path || override,
        message:
          likely === path
            ? 'cannot be set by --set, which takes no setting of a stream or of a list entry; set it in the file'
            : `--set wants <setting>=<value> with a known setting${meant(likely)}`,
      })
    } else if ((secretPaths as readonly string[]).includes(path) && override !== 'database.url=embedded') {
      problems.push({ path, message: 'secrets are not taken from the command line, where other users see them' })
    } else {
      yield [path, override.slice(separator + 1)]
    }
  }
}

function setAt(document: Record<string, unknown>, path: string, value: unknown): void {
  const keys = path.split('.')
  const last = keys.pop()
  let at = document
  for (const key of keys) {
    at[key] ??= {}
    // What is no section in the file stays as it is, for the check to name.
    if (typeof at[key] !== 'object') return
    at = at[key] as Record<string, unknown>
  }
  if (last !== undefined) at[last] = value
}

function problemOf(issue: z.core.$ZodIssue, document: Document): ConfigProblem {
  const path = issue.path.join('.')
  if (issue.code === 'unrecognized_keys') {
    const [key] = issue.keys.map((name) => [...issue.path, name].join('.')).filter((name) => name in removedSettings)
    if (key !== undefined) return { path: key, message: removedSettings[key] ?? '' }
    const section = issue.path.map(String)
    const values = issue.path.reduce<unknown>((at, name) => (at as Document)[String(name)], document) as Document
    // Of `{ apiKey: one,two }` the second half of the key is a name without a value.
    const shown = (name: string) =>
      values[name] === null ? '(a name without a value; is it part of a text that needs quotes?)' : name
    const named = issue.keys.map((name) => `${shown(name)}${meant(likelySetting([...section, name].join('.')))}`)
    return { path, message: `unknown ${issue.keys.length === 1 ? 'setting' : 'settings'} ${named.join(', ')}` }
  }
  return { path, message: issue.message }
}

/**
 * Where a document of YAML contains itself, as a dotted path: an alias may stand inside what it refers to. Anyone who
 * walks such a document never comes to its end. Null: nowhere.
 */
function aliasCycle(value: unknown): string | null {
  const sound = new Set<object>()
  const above = new Set<object>()
  const walk = (node: unknown, path: readonly string[]): string | null => {
    if (typeof node !== 'object' || node === null || sound.has(node)) return null
    if (above.has(node)) return path.join('.')
    above.add(node)
    for (const [key, entry] of Object.entries(node)) {
      const found = walk(entry, [...path, key])
      if (found !== null) return found
    }
    above.delete(node)
    sound.add(node)
    return null
  }
  return walk(value, [])
}

/** Settings that earlier versions had, by their path, with what stands in their place now. */
const removedSettings: Readonly<Record<string, string>> = {
  'push.resendUnmatchedAfterMs':
    'is no setting any more: it is afterMs of the entry {stream: properties, code: not_matched} under push.retries',
}

/** Streams that come with the kinds of request which the contract file describes, and what each requires by default. */
export type AddedStreams = Readonly<Record<string, { requires: readonly string[] }>>

type Document = Record<string, unknown>

/**
 * Checks the streams that a configuration names against those that there are, and writes down what a stream requires
 * where the configuration does not say it: one of the contract what the contract says, one of ours the mapping of its
 * hotel, if hotels are mapped here. What depends on a request waits for its end (Rules of processing, 3).
 *
 * @param added asked with the file that the document names as the contract, and only if a name is none of ours: a
 *   configuration that adds nothing can be read whatever is wrong with the contract.
 */
function joinAddedStreams(document: Document, added: (contract: string | null) => AddedStreams): ConfigProblem[] {
  const streams = sectionOf(document.streams)
  const named = [...requirementsIn(streams), ...retriedIn(sectionOf(document.push))]
  const mentioned = [...Object.keys(streams), ...named.map(({ name }) => name)]
  const { contract } = sectionOf(document.exchange)
  const known = mentioned.every(isOurStream) ? {} : added(typeof contract === 'string' ? contract : null)
  for (const [name, stream] of Object.entries(streams)) {
    const ofContract = Object.hasOwn(known, name) ? known[name]?.requires : undefined
    const requires = isOurStream(name) ? ourRequirements(name, streams) : ofContract
    // Aliases of one anchor are one object here, and each is a stream of its own.
    if (requires !== undefined && isSection(stream)) streams[name] = { requires: [...requires], ...stream }
  }
  const there = [...streamNames, ...Object.keys(known)]
  const problem = (path: string) => ({ path, message: `is no stream; there are ${there.join(', ')}` })
  return [
    ...Object.keys(streams)
      .filter((name) => !there.includes(name))
      .map((name) => problem(`streams.${name}`)),
    ...named.filter(({ name }) => !there.includes(name)).map(({ path }) => problem(path)),
  ]
}

/** Lookups that streams use and that there are not. */
function unknownLookups(document: Document): ConfigProblem[] {
  const there = Object.keys(sectionOf(document.lookups))
  const listed = there.length === 0 ? 'lookups names none' : `there are ${there.join(', ')}`
  return Object.entries(sectionOf(document.streams)).flatMap(([stream, value]) =>
    Object.entries(sectionOf(sectionOf(value).lookups)).flatMap(([column, name]) =>
      typeof name !== 'string' || there.includes(name)
        ? []
        : [
            {
              path: `streams.${stream}.lookups.${column}`,
              message: `${name} is no lookup; ${listed}${meant(nearestName(name, there))}`,
            },
          ],
    ),
  )
}

/** Makes the paths of lookups whole: they are relative to the file that names them, wherever a verb is called. */
function placeLookups(document: Document, file: string | null): void {
  if (file === null) return
  const lookups = sectionOf(document.lookups)
  for (const [name, lookup] of Object.entries(lookups)) {
    // Aliases of one anchor are one object here, and each is a lookup of its own.
    if (!isSection(lookup) || typeof lookup.file !== 'string' || lookup.file === '') continue
    lookups[name] = { ...lookup, file: resolve(dirname(file), lookup.file) }
  }
}

function ourRequirements(name: StreamName, streams: Document): StreamName[] {
  return name !== 'properties' && Object.hasOwn(streams, 'properties') ? ['properties'] : []
}

function requirementsIn(streams: Document): { path: string; name: string }[] {
  return Object.entries(streams).flatMap(([stream, value]) => {
    const { requires } = sectionOf(value)
    if (!Array.isArray(requires)) return []
    return requires.flatMap((name: unknown, index) =>
      typeof name === 'string' ? [{ path: `streams.${stream}.requires.${index}`, name }] : [],
    )
  })
}

/** The streams of whose rows policies speak. */
function retriedIn({ retries }: Document): { path: string; name: string }[] {
  if (!Array.isArray(retries)) return []
  return retries.flatMap((policy: unknown, index) => {
    const { stream } = sectionOf(policy)
    return typeof stream === 'string' ? [{ path: `push.retries.${index}.stream`, name: stream }] : []
  })
}

function sectionOf(value: unknown): Document {
  return isSection(value) ? value : {}
}

/** Whether something is a mapping; what is wrong with it otherwise is said by the schema. */
export function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
