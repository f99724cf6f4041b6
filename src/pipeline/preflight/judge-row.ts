import { createHash } from 'node:crypto'
import { isOurStream } from '../../config/schema.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { Deps } from '../deps.ts'
import { streams } from '../streams/our-streams.ts'
import { type LandingRow, maxPartnerIdLength } from '../streams/row-key.ts'
import { checkText, checkTexts } from '../streams/rules/check-texts.ts'
import { loadReferenceIndex, type ReferenceIndex, type RowRules } from '../streams/rules/reference-index.ts'
import type { RowContent } from '../streams/rules/row-content.ts'
import type { RowWarning } from '../streams/stream.ts'
import { checkTemplateRow } from './generic/fill-template.ts'
import { judgingBasis } from './judging-basis.ts'

/**
 * What is wrong with a row whose content is whole, or null. Undefined where that is for preflight to say, because there
 * is more to note of it than a verdict.
 */
export type JudgeRow = (row: LandingRow) => string | null | undefined

export type Judge = {
  /** What rows are judged by: a number of `judging_basis`. */
  basis: number
  of: (stream: string) => JudgeRow
}

/**
 * Judges rows on their way into the ledger, as preflight would afterwards, by the same reference data: so a row that is
 * new is written once, and preflight has only to compare it with others.
 */
export async function loadJudge(deps: Deps): Promise<Judge> {
  const { contract, db } = deps
  const { basis, rules } = await judgingOf(deps)
  const reference = await loadReferenceIndex(db, rules)
  return {
    basis,
    of:
      (stream) =>
      ({ partnerId, content }) =>
        rowWarnings(reference, stream, content).length > 0
          ? undefined
          : checkRow(contract, reference, stream, partnerId, content),
  }
}

/** What rows are judged by now: the rules that are ours, and the number of these with the reference data in force. */
export async function judgingOf({ config, contract, db, required }: Deps): Promise<{ basis: number; rules: RowRules }> {
  const rules = { maxTextLength: config.push.maxTextLength, customIdentifierId: required.customIdentifierId }
  const addedKinds = digestOf(contract.kinds)
  return { basis: await judgingBasis(db, { checks: checksRevision, ...rules, addedKinds }), rules }
}

function digestOf(kinds: Contract['kinds']): string {
  return createHash('sha256').update(JSON.stringify(kinds)).digest('hex')
}

/**
 * Raised with every change of what the checks say: rows that were judged by an older one are judged again. Too low, and
 * an installation keeps the verdicts of the version before; too high costs one night's judging.
 */
const checksRevision = 1

/**
 * What is wrong with a row before anyone is asked, or null. A row with a reason is never sent.
 * Pure: the reference data is what the service said at the beginning of the run.
 */
export function checkRow(
  contract: Contract,
  reference: ReferenceIndex,
  stream: string,
  partnerId: string,
  content: RowContent,
): string | null {
  return (
    checkPartnerId(partnerId) ??
    checkTexts(content, reference.rules.maxTextLength) ??
    checkContent(contract, reference, stream, partnerId, content)
  )
}

function checkPartnerId(partnerId: string): string | null {
  if (partnerId.trim() === '') return 'partner_id is empty'
  if (partnerId.length > maxPartnerIdLength) return `partner_id is longer than ${maxPartnerIdLength} characters`
  if (/[\t\n\r]/.test(partnerId)) return 'partner_id holds a tabulator or an end of line'
  return checkText('partner_id', partnerId, maxPartnerIdLength)
}

function checkContent(
  contract: Contract,
  reference: ReferenceIndex,
  stream: string,
  partnerId: string,
  content: RowContent,
): string | null {
  return isOurStream(stream)
    ? streams[stream].check(content, reference, contract)
    : checkTemplateRow(contract, stream, partnerId, content)
}

/** What is odd about a row, none of which is certain to be wrong. Pure. */
export function rowWarnings(reference: ReferenceIndex, stream: string, content: RowContent): RowWarning[] {
  return isOurStream(stream) ? (streams[stream].warn?.(content, reference) ?? []) : []
}
