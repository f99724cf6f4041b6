import { catalogue } from '../../catalogue.ts'
import { monthName } from '../../month-words.ts'
import { uuidFrom } from '../../uuid-from.ts'
import type { Document } from '../page-opening.ts'
import { content, type Opened, type PageCase, type Spelling } from './page-case.ts'

type Names = Spelling['names']

/** Another value of a member of the first company; undefined: no such member. One is made up on a page without any. */
function company(what: string, member: keyof Names, value: unknown): PageCase {
  return content(what, (page, names) => put(companyAt(page, 0, names), names[member], value))
}

/** The same of the first company's first calculator; one is made up where there is none. */
function calculator(what: string, member: keyof Names, value: unknown): PageCase {
  return content(what, (page, names) => put(calculatorOf(page, names), names[member], value))
}

/** The same of that calculator's period, which has a month. */
function period(what: string, member: 'year' | 'month', value: unknown): PageCase {
  return content(what, (page, names) => {
    const changed = periodOf(names, 3)
    put(changed, names[member], value)
    calculatorOf(page, names)[names.period] = changed
  })
}

/** Another value in the place of the first calculator's first input. */
function input(what: string, value: unknown): PageCase {
  return content(what, (page, names) => {
    const inputs = inputsOf(page, names)
    const [variable] = Object.keys(inputs)
    if (variable !== undefined) inputs[variable] = value
  })
}

/** What pages of calculators say: values, periods, ids, and what belongs to what. */
export const contentCases = {
  'company-null': content('A company is null.', (page) => {
    page.companies[0] = null
  }),
  'company-without-id': company('A company has no id.', 'id', undefined),
  'company-id-no-uuid': company("A company's id is no UUID.", 'id', 'H-0001'),
  'company-id-number': company("A company's id is a number.", 'id', 7),
  'company-name-number': company("A company's name is a number.", 'name', 5),
  'company-twice': content('A company is listed twice.', (page, names) => {
    page.companies.push(structuredClone(companyAt(page, 0, names)))
  }),
  'calculators-missing': company('A company has no list of calculators.', 'calculators', undefined),
  'calculators-null': company("A company's list of calculators is null.", 'calculators', null),
  'calculators-object': company("A company's list of calculators is an object.", 'calculators', {}),
  'fields-array': company("A company's custom property values are an array.", 'fields', ['A']),
  'lone-surrogate': company("A company's name holds half of a surrogate pair.", 'name', 'a\uD800b'),
  'nul-character': company("A company's name holds a NUL.", 'name', 'a\0b'),
  'calculator-id-no-uuid': calculator("A calculator's id is no UUID.", 'id', 'k-1'),
  'type-id-no-uuid': calculator("A calculator's type is no UUID.", 'typeId', 'carbon'),
  'period-missing': calculator('A calculator has no period.', 'period', undefined),
  'period-text': calculator("A calculator's period is a string.", 'period', '2025'),
  'year-missing': period('A period has no year.', 'year', undefined),
  'year-text': period("A period's year is a string.", 'year', '2025'),
  'year-fraction': period("A period's year is no whole number.", 'year', 2025.5),
  'month-misspelt': period('A month is misspelt.', 'month', 'Febuary'),
  'month-short': period('A month is abbreviated.', 'month', 'Mar'),
  'month-number': period('A month is a number.', 'month', 3),
  'month-on-yearly': content('A calculator that says it is yearly has a month.', (page, names) => {
    const found = calculatorOf(page, names)
    found[names.title] = 'Carbon footprint, year 2025'
    found[names.period] = periodOf(names, 1)
  }),
  'inputs-array': calculator("A calculator's inputs are an array.", 'inputs', ['1']),
  'value-number': input('A value is a number.', 12.5),
  'value-null': input('A value is null.', null),
  'value-object': input('A value is an object.', {}),
  'value-nul-character': input('A value holds a NUL.', 'a\0b'),
  'variable-not-listed': content('A value belongs to a variable that is not listed.', (page, names) => {
    inputsOf(page, names)[uuidFrom('a variable that nobody lists')] = '1'
  }),
  'calculator-under-two-companies': content('A calculator is listed under two companies.', (page, names) => {
    const shared = calculatorOf(page, names)
    const other = companyAt(page, 1, names)
    other[names.calculators] = [structuredClone(shared), ...listOf(other, names)]
  }),
}

/** Puts a value under a name; undefined takes the name away. */
function put(owner: Document, name: string, value: unknown): void {
  if (value === undefined) delete owner[name]
  else owner[name] = value
}

function periodOf(names: Names, month: number): Document {
  return { [names.year]: 2025, [names.month]: monthName(month) }
}

function companyAt(page: Opened, index: number, names: Names): Document {
  for (let at = page.companies.length; at <= index; at += 1) {
    const id = uuidFrom(`made up company ${at}`)
    page.companies.push({ [names.id]: id, [names.name]: 'Made up', [names.calculators]: [] })
  }
  return page.companies[index] as Document
}

function calculatorOf(page: Opened, names: Names): Document {
  const owner = companyAt(page, 0, names)
  const [found] = listOf(owner, names)
  if (found) return found
  const made = {
    [names.id]: uuidFrom('made up calculator'),
    [names.typeId]: catalogue.calculatorTypes[0]?.id,
    [names.title]: 'Made up, March 2025',
    [names.period]: periodOf(names, 3),
  }
  owner[names.calculators] = [made]
  return made
}

function listOf(owner: Document, names: Names): Document[] {
  return (owner[names.calculators] ?? []) as Document[]
}

/** The inputs of the first calculator; where there are none, one is made up, and its variable is listed. */
function inputsOf(page: Opened, names: Names): Document {
  const found = calculatorOf(page, names)
  const inputs = found[names.inputs] as Document | undefined
  if (inputs) return inputs
  const variable = { [names.id]: uuidFrom('made up variable'), [names.name]: 'Made up' }
  const made = { [String(variable[names.id])]: '1' }
  found[names.inputs] = made
  page.head[names.calculatorVariables] = [...((page.head[names.calculatorVariables] ?? []) as Document[]), variable]
  return made
}
