import type { Contract } from '../../exchange/contract.ts'
import { contentProblem, excerptOf, fieldOf, idProblem, isObject } from '../reading/page-text.ts'
import type { PageElement, PageElementKind } from '../reading/read-page.ts'
import type { Content } from './merge/known-companies.ts'
import type { StagingWriter } from './merge/staging-tables.ts'
import type { DecodedCompany, LeftOut, PageCompany } from './page-company.ts'

type PageNameKind = Exclude<PageElementKind, 'company'>

/** Lays what is decoded of one page into staging. */
type PageStager = {
  /** Decodes an entry of a list of names and stages it. */
  name(kind: PageNameKind, element: Pick<PageElement, 'value' | 'ordinal'>): void
  /** Stages a decoded company; `content` is what it was read from, null where there are no bytes of it alone. */
  company(decoded: DecodedCompany, ordinal: number, content: Content | null): void
}

/** Holds nothing itself: what was staged waits in the writer until that is drained. */
export function createPageStager(writer: StagingWriter, contract: Contract): PageStager {
  const stageCompany = companyStager(writer)
  const stageLeftOut = (item: LeftOut): void => {
    writer.add('staged_left_out', [item.unit, item.companyId, item.calculatorId, item.item, item.reason, item.excerpt])
  }
  return {
    name(kind, { value, ordinal }) {
      const ofProperty = kind === 'customProperty'
      const { listed, leftOut } = pageName(ofProperty ? 'property_name' : 'variable_name', value, contract)
      if (leftOut !== null) stageLeftOut(leftOut)
      if (listed === null) return
      writer.add(ofProperty ? 'staged_property_name' : 'staged_variable_name', [ordinal, listed.id, listed.name])
    },
    company({ company, leftOut }, ordinal, content) {
      // What was left out must be found again the next time: such a company is never taken for unchanged.
      if (company !== undefined) stageCompany(company, ordinal, leftOut.length === 0 ? content : null)
      for (const item of leftOut) stageLeftOut(item)
    },
  }
}

/** How many values a company holds. */
export function countValues({ calculators }: PageCompany): number {
  let values = 0
  for (const { content } of calculators) values += content?.values.length ?? 0
  return values
}

function companyStager(
  writer: StagingWriter,
): (company: PageCompany, ordinal: number, content: Content | null) => void {
  const referTo = createVariableReferences((reference, variableId) => {
    writer.add('staged_reference', [reference, variableId])
  })
  let calculatorOrdinal = 0
  return (company, ordinal, content) => {
    const { companyId, name, nameProblem, readable, complete } = company
    const from = [content?.hash ?? null, content?.bytes ?? null]
    const counts = [company.calculators.length, countValues(company)]
    writer.add('staged_company', [ordinal, companyId, name, nameProblem, readable, complete, ...from, ...counts])
    for (const { propertyId, reason, field } of company.unrenewedProperties) {
      writer.add('staged_unrenewed_property', [ordinal, propertyId, reason, field])
    }
    for (const property of company.properties) {
      writer.add('staged_property', [ordinal, property.propertyId, property.ordinal, property.value])
    }
    for (const { calculatorId, content } of company.calculators) {
      calculatorOrdinal++
      if (content === null) {
        const unread = [null, null, null, null, null, null]
        writer.add('staged_calculator', [calculatorOrdinal, ordinal, calculatorId, ...unread, false])
        continue
      }
      const { typeId, title, titleProblem, year, month, monthNull, values, unrenewed } = content
      const read = [typeId, title, titleProblem, year, month, monthNull]
      writer.add('staged_calculator', [calculatorOrdinal, ordinal, calculatorId, ...read, true])
      for (const { direction, variableId, reason, field } of unrenewed) {
        writer.add('staged_unrenewed_value', [calculatorOrdinal, direction, variableId, reason, field])
      }
      for (const { direction, variableId, value } of values) {
        writer.add('staged_value', [calculatorOrdinal, referTo(variableId), direction, value])
      }
    }
  }
}

/** Distinct ids remembered at once: real pages have some hundreds, and a hostile one must not fill the heap. */
const maxRemembered = 50_000

/**
 * Gives every variable id of a page a small integer, so that millions of staged values carry that and not the id.
 * An id that was forgotten gets a second one, which names the same variable.
 * @param announce told of every integer given out.
 */
function createVariableReferences(
  announce: (reference: number, variableId: string) => void,
): (variableId: string) => number {
  const known = new Map<string, number>()
  let last = 0
  return (variableId) => {
    const reference = known.get(variableId)
    if (reference !== undefined) return reference
    if (known.size >= maxRemembered) known.clear()
    known.set(variableId, ++last)
    announce(last, variableId)
    return last
  }
}

/** An entry of the page's list of custom properties or calculator variables. */
type PageName = {
  /** Null where its id cannot be read: only then it is not listed. */
  listed: { id: string /** Null where it cannot be read. */; name: string | null } | null
  leftOut: LeftOut | null
}

/**
 * Decodes one `{ id, name }` of the page's lists of names. Pure. A name that cannot be read costs the name alone, and
 * no value: the id is listed. See "Calculator search result page" in the specification.
 */
export function pageName(unit: 'variable_name' | 'property_name', element: unknown, contract: Contract): PageName {
  const names = contract.names.calculatorsPage
  const refusal = (item: string | null, reason: string): LeftOut => ({
    unit,
    companyId: null,
    calculatorId: null,
    item,
    reason,
    excerpt: excerptOf(element),
  })
  if (!isObject(element)) return { listed: null, leftOut: refusal(null, 'no_object') }
  const id = fieldOf(element, names.id)
  const name = fieldOf(element, names.name)
  const problem = idProblem(id)
  if (problem !== undefined) return { listed: null, leftOut: refusal(names.id, problem) }
  const nameProblem = contentProblem(name)
  return nameProblem === undefined
    ? { listed: { id: String(id), name: String(name) }, leftOut: null }
    : { listed: { id: String(id), name: null }, leftOut: refusal(String(id), nameProblem) }
}
