import type { ExchangeClient } from '../exchange/client.ts'

type Named = { id: string; name: string }

/** What a new configuration chooses from, by name. */
type Shown = { identifiers: Named[]; groups: Named[]; properties: Named[]; frameworks: Named[] }

/** No such group or identifier, or several and nobody to ask. */
class ChoiceNeeded extends Error {
  readonly code = 'usage'
}

/**
 * What the key's profile shows: the cheapest call first, which says whether the key is accepted (Authentication 5).
 * @throws {HttpError} when it is not.
 */
export async function shownByService(
  client: Pick<ExchangeClient, 'getUnitTypes' | 'getGroups' | 'getCustomProperties' | 'getFrameworks'>,
): Promise<Shown> {
  await client.getUnitTypes()
  const owned = (await client.getCustomProperties()).filter(({ isOwnedByInvokingCompany: own }) => own !== false)
  const named = ({ id, name }: Named): Named => ({ id, name })
  return {
    identifiers: owned
      .filter(({ isIdentifier, type }) => isIdentifier && (type ?? 'string').toLowerCase() === 'string')
      .map(named),
    groups: (await client.getGroups()).map(named),
    properties: owned.map(named),
    frameworks: (await client.getFrameworks()).map(({ id, title }) => ({ id, name: title })),
  }
}

/**
 * The one that was asked for by id or name, the only one there is, or the one that a person picks; null if there is
 * none.
 * @param ask asks a person; null: there is nobody.
 * @throws {ChoiceNeeded} naming all of them.
 */
export async function chosenFor(
  what: string,
  flag: string,
  wanted: string | undefined,
  choices: readonly Named[],
  ask: ((choices: readonly Named[]) => Promise<Named>) | null,
): Promise<Named | null> {
  const names = choices.map(({ id, name }) => `${id} (${name})`).join(', ') || 'none'
  if (wanted !== undefined) {
    const found = choices.find(({ id, name }) => [id.toLowerCase(), name.toLowerCase()].includes(wanted.toLowerCase()))
    if (found !== undefined) return found
    throw new ChoiceNeeded(`${flag} ${wanted} is no ${what} of the key's profile; there are: ${names}`)
  }
  const [only] = choices
  if (only === undefined || choices.length === 1) return only ?? null
  if (ask !== null) return await ask(choices)
  throw new ChoiceNeeded(`the key's profile has several of these: choose one with ${flag}: ${names}`)
}
