import type { Contract } from '../../../exchange/contract.ts'
import { contentProblem, excerptOf, idProblem } from '../../reading/page-text.ts'
import { fieldOf, isObject, type LeftOut } from './page-object.ts'

/** An entry of the page's list of custom properties or calculator variables. */
type PageName = { id: string; name: string }

/** Decodes one `{ id, name }` of the page's lists of names. Pure. */
export function pageName(
  unit: 'variable_name' | 'property_name',
  element: unknown,
  contract: Contract,
): PageName | LeftOut {
  const names = contract.names.calculatorsPage
  const refusal = (item: string | null, reason: string): LeftOut => ({
    unit,
    companyId: null,
    calculatorId: null,
    item,
    reason,
    excerpt: excerptOf(element),
  })
  if (!isObject(element)) return refusal(null, 'no_object')
  const id = fieldOf(element, names.id)
  const name = fieldOf(element, names.name)
  const problem = idProblem(id)
  if (problem !== undefined) return refusal(names.id, problem)
  const nameProblem = contentProblem(name)
  return nameProblem === undefined ? { id: String(id), name: String(name) } : refusal(String(id), nameProblem)
}
