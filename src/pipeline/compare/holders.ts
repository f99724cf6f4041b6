import type { Contract } from '../../exchange/contract.ts'
import { idOf, instantOf, objectOf } from '../../exchange/wire-value.ts'
import { text } from '../streams/rules/row-content.ts'
import type { Expected, SentRow, Stored, StoredThings } from './stored.ts'

/**
 * The standards that one company holds, by the standard holders search; null where the page is laid out otherwise.
 * Pure.
 */
export function readHolders(contract: Contract, documents: readonly unknown[]): StoredThings | null {
  const names = contract.names.standardHoldersPage
  const things = new Map<string, Stored>()
  for (const document of documents) {
    const holder = objectOf(document)
    const standard = idOf(holder?.[names.standardId])
    if (holder === null || standard === null) return null
    const parts = [names.level, names.startDate, names.expiryDate].map((name) => holder[name])
    if (parts.some((part) => part !== undefined && typeof part !== 'string')) return null
    const [level, start, expiry] = parts as (string | undefined)[]
    const before = things.get(standard.toLowerCase())
    things.set(standard.toLowerCase(), {
      values: [...(before?.values ?? []), holding(level, start, expiry)],
      changedAt: instantOf(holder[names.changedAt]),
    })
  }
  return things
}

/** What a standard that is held should have left there. Pure. */
export function expectedHolder({ content }: SentRow): Expected | null {
  const standard = text(content, 'standard_id')
  if (standard === null) return null
  const value = holding(text(content, 'level'), text(content, 'start_date'), text(content, 'expiry_date'))
  return { thing: standard.toLowerCase(), value, shown: value }
}

/** A date may come back as a moment: only its day was sent. */
function holding(...[level, start, expiry]: (string | null | undefined)[]): string {
  const day = (date: string | null | undefined) => (date == null ? '' : date.slice(0, 10))
  return `${level ?? ''} from ${day(start)} to ${day(expiry)}`
}
