import { isOurStream } from '../../config/schema.ts'
import type { Contract } from '../../exchange/contract.ts'
import { maxPartnerIdLength } from '../streams/stream-rows.ts'
import { checkAnswer, checkOmission } from './check-answer.ts'
import { checkInputs, checkSettings } from './check-calculator.ts'
import { checkCustomPropertyValue } from './check-custom-property.ts'
import { checkPeriod } from './check-period.ts'
import { checkProperty } from './check-property.ts'
import { checkStandardHolder } from './check-standard-holder.ts'
import { checkText, checkTexts } from './check-texts.ts'
import { checkTemplateRow } from './generic/check-template-row.ts'
import type { ReferenceIndex } from './reference-index.ts'
import type { RowContent } from './row-content.ts'

export { answerType } from './check-answer.ts'
export { type RowContent, text } from './row-content.ts'

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
  if (!isOurStream(stream)) return checkTemplateRow(contract, stream, partnerId, content)
  switch (stream) {
    case 'properties':
      return checkProperty(content)
    case 'framework_answers':
      return checkPeriod(content) ?? checkAnswer(contract, reference, content)
    case 'omissions':
      return checkPeriod(content) ?? checkOmission(reference, content)
    case 'calculator_inputs':
      return checkInputs(content)
    case 'calculator_settings':
      return checkSettings(content)
    case 'custom_property_values':
      return checkCustomPropertyValue(reference, content)
    case 'standard_holders':
      return checkStandardHolder(content)
    default:
      return stream satisfies never
  }
}
