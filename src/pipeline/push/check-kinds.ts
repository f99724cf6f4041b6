import { isOurStream } from '../../config/schema.ts'
import { placeholdersOf } from '../../exchange/body-template.ts'
import { type Contract, ContractError } from '../../exchange/contract.ts'
import { kindNames, searchKinds } from '../streams/kind-names.ts'
import { streamNamesOf } from '../streams/our-streams.ts'

/**
 * Checks the kinds of a contract file against those that Nightferry has: names and streams are told apart by nothing
 * else, in tables, reports and settings.
 * @throws {ContractError} with every clash by its path in the file.
 */
export function checkKinds(file: string, contract: Contract): void {
  const { kinds } = contract
  const ours: readonly string[] = [...kindNames, ...searchKinds]
  const streams = streamNamesOf(contract)
  const problems = kinds.flatMap(({ name, stream, requires }, index) => {
    const carrier = kinds.findIndex((other) => other.stream === stream)
    return [
      ours.includes(name) ? [`kinds.${name}: is the name of a kind that Nightferry has; choose another`] : [],
      isOurStream(stream)
        ? [`kinds.${name}.stream: ${stream} is a stream that Nightferry has; choose another name`]
        : [],
      carrier === index ? [] : [`kinds.${name}.stream: ${stream} travels in kinds.${kinds[carrier]?.name} already`],
      requires.flatMap((required, place) =>
        streams.includes(required) && required !== stream
          ? []
          : [`kinds.${name}.requires.${place}: ${required} is no other stream; there are ${streams.join(', ')}`],
      ),
    ].flat()
  })
  if (problems.length === 0) return
  throw new ContractError(
    `${file} adds kinds of request that cannot be used:\n${problems.map((line) => `  ${line}`).join('\n')}`,
  )
}

/** Whether a stream that is read travels in a request which holds the group's id, so that it has to be set. */
export function needsGroup({ kinds }: Contract, streams: Readonly<Record<string, unknown>>): boolean {
  return kinds.some(({ stream, body: { head, element, inner } }) => {
    const templates = inner === null ? [head, element] : [head, element, inner.element]
    const held = templates.flatMap(placeholdersOf)
    return (
      streams[stream] !== undefined &&
      held.some((one) => one.is === 'setting' && one.setting === 'groupId' && !one.optional)
    )
  })
}
