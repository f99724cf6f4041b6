import { placeholdersOf } from '../../../exchange/body-template.ts'
import type { Contract } from '../../../exchange/contract.ts'

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
