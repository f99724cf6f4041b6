import type { whatIsCompared } from '../pipeline/compare/what-is-compared.ts'
import { comparedWords } from '../pipeline/report/report-words.ts'
import { advice, type Found, ok } from './ward.ts'

/**
 * Whether somebody would notice that the service lost what it accepted: which kinds of row that are sent a night
 * compares with what the service shows, and of the others why not. Pure.
 */
export function judgeComparison({ kinds, unseen }: ReturnType<typeof whatIsCompared>): Found[] {
  if (kinds.length + unseen.length === 0) return [ok('Nothing is sent, so there is nothing to compare')]
  const named = (some: typeof kinds) => some.map(({ kind }) => comparedWords(kind)).join(', ')
  const compared = kinds.filter(({ lack }) => lack === null)
  const unshown = unseen.length === 0 ? '' : `; no search shows ${unseen.join(', ')}`
  const all = compared.length === 0 ? 'Nothing that is sent is compared' : `Compared: ${named(compared)}`
  const lacking = Map.groupBy(kinds, ({ lack }) => lack?.why ?? null)
  return [
    ok(`${all}${unshown}`),
    ...[...lacking].flatMap(([why, some]) => {
      const todo = some[0]?.lack?.todo
      return todo === undefined ? [] : [advice(`Not compared: ${named(some)}, because ${why}`, todo, some[0]?.kind)]
    }),
  ]
}
