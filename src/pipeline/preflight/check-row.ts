import { isOurStream } from '../../config/schema.ts'
import type { Contract } from '../../exchange/contract.ts'
import { streams } from '../streams/our-streams.ts'
import { maxPartnerIdLength } from '../streams/row-key.ts'
import { checkText, checkTexts } from '../streams/rules/check-texts.ts'
import type { ReferenceIndex } from '../streams/rules/reference-index.ts'
import type { RowContent } from '../streams/rules/row-content.ts'
import type { RowWarning } from '../streams/stream.ts'
import { checkTemplateRow } from './generic/check-template-row.ts'

/**
 * Raised with every change of what the checks say: rows that were judged by an older one are judged again. Too low, and
 * an installation keeps the verdicts of the version before; too high costs one night's judging.
 */
export const checksRevision = 1

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
