import { type StreamName, streamNames } from '../config/known-names.ts'
import type { ExchangeClient } from '../exchange/client.ts'
import { uuidOf } from '../exchange/wire-value.ts'
import type { PartnerTable } from '../partner/examination.ts'
import { streams } from '../pipeline/streams/our-streams.ts'
import type { Said } from './suggest-streams.ts'

/** A stream, a table or a column that there is not. */
class SaidWrong extends Error {
  readonly code = 'usage'
}

/**
 * What flags say of the partner's tables. Pure.
 * @param tables each as `stream=table`, or `stream=schema.table`.
 * @param columns each as `stream.column=column of the table`.
 * @throws {SaidWrong} naming what there is.
 */
export function saidTables(
  tables: readonly string[],
  columns: readonly string[],
  known: readonly PartnerTable[],
): Said {
  const said: Said = {}
  for (const text of tables) {
    const [name, wanted] = halves('--table', 'stream=table', text)
    const stream = streamOf('--table', name)
    const found = known.filter((table) => namesOf(table).includes(wanted.toLowerCase()))
    const [only] = found
    if (only === undefined || found.length > 1) {
      const there = (found.length > 1 ? found : known).map((table) => namesOf(table)[0]).join(', ')
      throw new SaidWrong(
        `--table ${text}: ${only === undefined ? 'there is no such table' : 'several are called so'}; there are: ${there || 'none'}`,
      )
    }
    said[stream] = { ...said[stream], table: only }
  }
  for (const text of columns) {
    const [path, column] = halves('--column', 'stream.column=column', text)
    const [name = '', wanted = ''] = path.split('.')
    const stream = streamOf('--column', name)
    const own = Object.keys(streams[stream].columns)
    if (!own.includes(wanted))
      throw new SaidWrong(`--column ${text}: ${stream} has no column ${wanted}; it has ${own.join(', ')}`)
    const table = said[stream]?.table
    const there = (table === undefined ? known : [table]).flatMap((one) => one.columns.map((each) => each.name))
    if (!there.some((each) => each.toLowerCase() === column.toLowerCase())) {
      const lack =
        table === undefined
          ? `no table has a column ${column}`
          : `${table.name} has no column ${column}; it has ${there.join(', ')}`
      throw new SaidWrong(`--column ${text}: ${lack}`)
    }
    said[stream] = { ...said[stream], columns: { ...said[stream]?.columns, [wanted]: column } }
  }
  return said
}

/** The names by which a table may be called, the longest first. */
function namesOf({ schema, name }: PartnerTable): string[] {
  return (schema === null ? [name] : [`${schema}.${name}`, name]).map((text) => text.toLowerCase())
}

function halves(flag: string, form: string, text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) throw new SaidWrong(`${flag} ${text}: it looks like ${form}`)
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()]
}

function streamOf(flag: string, name: string): StreamName {
  const found = streamNames.find((one) => one === name)
  if (found === undefined)
    throw new SaidWrong(`${flag}: there is no stream ${name}; there are ${streamNames.join(', ')}`)
  return found
}

/** Something of the service that a person knows by its name. */
export type Named = { id: string; name: string }

/** What a new configuration chooses from, by name. */
type Shown = { identifiers: Named[]; groups: Named[]; properties: Named[]; frameworks: Named[] }

/** No such group or identifier, or several and nobody to ask. */
class ChoiceNeeded extends Error {
  readonly code = 'usage'
}

/**
 * What the key's profile shows: the cheapest call first, which says whether the key is accepted (Authentication 5).
 * Identifiers, groups and properties whose id no setting can name are left out.
 * @throws {HttpError} when it is not.
 */
export async function shownByService(
  client: Pick<ExchangeClient, 'getUnitTypes' | 'getGroups' | 'getCustomProperties' | 'getFrameworks'>,
): Promise<Shown> {
  await client.getUnitTypes()
  const isNameable = ({ id }: { id: string }) => uuidOf(id) !== null
  const owned = (await client.getCustomProperties())
    .filter(({ isOwnedByInvokingCompany: own }) => own !== false)
    .filter(isNameable)
  const named = ({ id, name }: Named): Named => ({ id, name })
  return {
    identifiers: owned
      .filter(({ isIdentifier, type }) => isIdentifier && (type ?? 'string').toLowerCase() === 'string')
      .map(named),
    groups: (await client.getGroups()).filter(isNameable).map(named),
    properties: owned.map(named),
    frameworks: (await client.getFrameworks()).map(({ id, title }) => ({ id, name: title })),
  }
}

/**
 * The one that was asked for by id or name, the only one there is, or the one that a person picks; null if there is
 * none. An id wins over a name; the specification does not say that names are unique.
 * @param ask asks a person; null: there is nobody.
 * @throws {ChoiceNeeded} naming those that there are to choose from.
 */
export async function chosenFor(
  what: string,
  flag: string,
  wanted: string | undefined,
  choices: readonly Named[],
  ask: ((choices: readonly Named[]) => Promise<Named>) | null,
): Promise<Named | null> {
  const found = wanted === undefined ? choices : calledSo(wanted.toLowerCase(), choices)
  const [only] = found
  if (only === undefined && wanted !== undefined) {
    throw new ChoiceNeeded(`${flag} ${wanted} is no ${what} of the key's profile; there are: ${listed(choices)}`)
  }
  if (only === undefined || found.length === 1) return only ?? null
  if (ask !== null) {
    const { id } = await ask(toldApart(found))
    return found.find((one) => one.id === id) ?? null
  }
  const how = wanted === undefined ? flag : `${flag} and its id`
  throw new ChoiceNeeded(`the key's profile has several of these: choose one with ${how}: ${listed(found)}`)
}

function calledSo(wanted: string, choices: readonly Named[]): readonly Named[] {
  const byId = choices.filter(({ id }) => id.toLowerCase() === wanted)
  return byId.length > 0 ? byId : choices.filter(({ name }) => name.toLowerCase() === wanted)
}

function listed(choices: readonly Named[]): string {
  return choices.map(({ id, name }) => `${id} (${name})`).join(', ') || 'none'
}

/** Those that share their name have their id beside it. */
function toldApart(choices: readonly Named[]): Named[] {
  const shared = (name: string) => choices.filter((one) => one.name === name).length > 1
  return choices.map(({ id, name }) => ({ id, name: shared(name) ? `${name} (${id})` : name }))
}
