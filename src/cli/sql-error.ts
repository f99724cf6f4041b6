import { QueryFailed } from './query-failed.ts'
import { readable } from './show/readable.ts'
import { textWidth } from './show/text-width.ts'

type ServerError = { code?: unknown; message?: string; position?: string; detail?: string; hint?: string }

/** How much of a long line is shown on either side of the caret. */
const aroundCaret = 60

/**
 * What the server said of a query, with the line it means and a caret under the place. Other errors stay as they are.
 */
export function queryFailed(query: string, error: unknown): unknown {
  const { code, message, position, detail, hint } = error as ServerError
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) return error
  const lines = [
    message ?? '',
    ...(position === undefined ? [] : caretLines(query, Number(position))),
    ...(detail === undefined ? [] : [`Detail: ${detail}`]),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
  ]
  return new QueryFailed(code, lines.join('\n'), { cause: error })
}

/**
 * The line of a place in a query, and a line with a caret under it. Pure.
 * @param position counted in characters from 1, as PostgreSQL does.
 */
export function caretLines(query: string, position: number): string[] {
  const before = Array.from(query)
    .slice(0, Math.max(0, position - 1))
    .join('')
  const number = before.split('\n').length
  const start = before.lastIndexOf('\n') + 1
  const line = query.slice(start).split('\n')[0] ?? ''
  const left = Array.from(before.slice(start))
  const right = Array.from(line.slice(before.length - start))
  const cutLeft = left.length > aroundCaret
  const cutRight = right.length > aroundCaret
  const head = `Line ${number}: ${cutLeft ? '…' : ''}${readable((cutLeft ? left.slice(-aroundCaret) : left).join(''))}`
  const tail = `${readable((cutRight ? right.slice(0, aroundCaret) : right).join(''))}${cutRight ? '…' : ''}`
  return [`${head}${tail}`, `${' '.repeat(textWidth(head))}^`]
}
