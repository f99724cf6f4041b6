import { isOurStream } from '../../config/schema.ts'
import type { PolicyWords } from '../../db/ledger/resend-policy.ts'
import { streams } from '../../pipeline/streams/our-streams.ts'
import { allWords } from '../../pipeline/streams/rules/row-content.ts'
import { moment } from './readable.ts'

/** What a ledger row says, in a few words. For people; the row key and the content in full are in the JSON. */
export function rowWords(stream: string, content: Readonly<Record<string, unknown>>): string {
  return isOurStream(stream) ? streams[stream].words(content) : allWords(content)
}

/** What a policy will do about a rejected row, for a person; null where none will. Pure. */
export function policyWords({ policy_after, policy_sent, policy_times }: PolicyWords): string | null {
  if (policy_after === null) return null
  const count = policy_times === null ? '' : `, for the ${ordinal((policy_sent ?? 0) + 1)} time of ${policy_times}`
  return `sent again by policy after ${moment(policy_after)}${count}`
}

function ordinal(number: number): string {
  const suffixes: Record<string, string> = { one: 'st', two: 'nd', few: 'rd', other: 'th' }
  return `${number}${suffixes[rules.select(number)] ?? 'th'}`
}

const rules = new Intl.PluralRules('en-GB', { type: 'ordinal' })
