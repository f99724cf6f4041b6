import type { Contract } from '../../../exchange/contract.ts'
import type { GenericKind } from '../../../exchange/generic-kinds.ts'
import { templateProblem } from './fill-template.ts'

/** What keeps a row of a stream that the contract adds from being sent, or null. Pure. */
export function checkTemplateRow(
  { kinds }: Contract,
  stream: string,
  partnerId: string,
  content: Readonly<Record<string, unknown>>,
): string | null {
  const kind = kinds.find((one) => one.stream === stream)
  if (kind === undefined)
    return `no kind of request carries the stream ${stream}: the contract file describes none (any more)`
  const column = columnsOf(kind, partnerId, content)
  const { head, element, inner } = kind.body
  return (
    // A request is named after what keeps it apart: where that is empty, there is none.
    templateProblem(head, (name) => column(name) || null) ??
    templateProblem(element, column) ??
    (inner === null ? null : templateProblem(inner.element, column))
  )
}

function columnsOf(kind: GenericKind, partnerId: string, content: Readonly<Record<string, unknown>>) {
  return (name: string): string | null => {
    if (name === kind.partnerId) return partnerId
    const value = content[name]
    return typeof value === 'string' ? value : null
  }
}
