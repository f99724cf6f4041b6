import { PartnerDatabaseError } from './partner-database-error.ts'

/** Texts and names, in which parentheses mean nothing, and comments; any other character by itself. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\[(?:[^\]]|\]\])*\]|--[^\n]*|\/\*|[\s\S]/gy

/**
 * A configured query without its comments, which cannot end the parentheses it is put into: what stood behind them
 * would be a statement of its own. The server knows no read-only transactions, and runs as many statements as a text
 * holds, also without semicolons between them.
 * @throws {PartnerDatabaseError} `partner_query_failed` when it would.
 */
export function oneQuery(stream: string, query: string): string {
  const kept = []
  let depth = 0
  token.lastIndex = 0
  for (let found = token.exec(query); found !== null; found = token.exec(query)) {
    const [text] = found
    if (text === '/*') token.lastIndex = afterComment(query, token.lastIndex)
    if (text === '(') depth += 1
    if (text === ')') depth -= 1
    if (depth < 0 || ["'", '"', '[', ';'].includes(text)) break
    kept.push(text.startsWith('--') || text === '/*' ? ' ' : text)
    if (token.lastIndex >= query.length && depth === 0) return kept.join('')
  }
  throw new PartnerDatabaseError(
    'partner_query_failed',
    `The query of the stream ${stream} is not one query: it holds a second statement, or a parenthesis or quote without its other half. Fix streams.${stream}.query.`,
  )
}

/** Comments of this server nest. */
function afterComment(query: string, from: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = from
  let depth = 1
  for (let found = mark.exec(query); found !== null; found = mark.exec(query)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
  return query.length
}
