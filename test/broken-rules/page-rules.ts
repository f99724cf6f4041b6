import { at, isObject, objectsOf } from '../../src/conformance/wire-json.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { answers, type BrokenRule, broken, calculators, companies, files } from './broken-rule.ts'
import type { Hooks, Json } from './broken-service.ts'

const search = 'BulkGetCompanyCalculators'
const unknownId = '00000000-0000-4000-8000-00000000000a'

/** Rules of the pages of the calculator search, and of what the imports store. */
export const pageRules = (): BrokenRule[] => [
  broken('page/request-type', 'the calculator search names another request type', () =>
    answers('GET /api/v2/bulk/tasks/*', (_exchange, task) => {
      if (task.requestType === search) task.requestType = 'Search'
    }),
  ),
  broken('page/documents', 'a company stands on two pages', () => {
    let first: Json | undefined
    return files(search, (page, { page: nth }) => {
      const list = objectsOf(page.companies)
      first ??= list[0]
      if (nth > 0 && first) page.companies = [first, ...list]
    })
  }),
  broken('page/documents', 'a page is no document of its own', () =>
    files(search, (page, { page: nth }) => {
      if (nth > 0) delete page.companies
    }),
  ),
  broken('page/calculator', 'one calculator stands under two companies', () =>
    files(search, (page) => {
      const [one, two] = objectsOf(page.companies)
      if (one && two) two.calculators = one.calculators
    }),
  ),
  broken('page/values', 'a value is a number', () =>
    calculators((calculator) => mapValues(calculator.outputs, (value) => Number(value))),
  ),
  broken('page/values', 'a blank value is there', () =>
    calculators((calculator) => mapValues(calculator.inputs, () => ' ')),
  ),
  broken('page/custom-properties', 'the custom properties differ from page to page', () =>
    files(search, (page, { page: nth }) => {
      if (nth > 0) page.customProperties = objectsOf(page.customProperties).slice(1)
    }),
  ),
  broken('page/custom-properties', 'a property that the profile does not own is listed', () =>
    files(search, (page) => {
      if (page.customProperties)
        page.customProperties = [...objectsOf(page.customProperties), { id: unknownId, name: 'Foreign' }]
    }),
  ),
  broken('page/custom-properties', 'an owned property without a value is left out', () =>
    files(search, (page) => {
      if (page.customProperties) page.customProperties = objectsOf(page.customProperties).slice(0, 1)
    }),
  ),
  broken('page/custom-properties', 'the list is there though nothing was asked for', () =>
    files(search, (page) => {
      page.customProperties ??= []
    }),
  ),
  broken('page/calculator-variables', 'a listed variable has no name', () =>
    files(search, (page) => {
      const [first] = objectsOf(page.calculatorVariables)
      if (first) delete first.name
    }),
  ),
  broken('page/calculator-variables', 'a variable that is referenced is not listed', () =>
    files(search, (page) => {
      if (page.calculatorVariables) page.calculatorVariables = objectsOf(page.calculatorVariables).slice(1)
    }),
  ),
  broken('page/calculator-variables', 'the list is there though there is no value', () =>
    files(search, (page) => {
      page.calculatorVariables ??= []
    }),
  ),
  broken('page/companies', 'the companies are null', () =>
    files(search, (page) => {
      page.companies = null
    }),
  ),
  broken('company/id', 'the id of a company is a number', () =>
    companies(search, (company) => {
      company.id = 7
    }),
  ),
  broken('company/name', 'the name of a company is null', () =>
    companies(search, (company) => {
      company.name = null
    }),
  ),
  broken('company/fields', 'the values of a property are a text', () =>
    companies(search, (company) => mapValues(company.fields, String)),
  ),
  broken('company/fields', 'a property that was not asked for is there', () =>
    companies(search, (company) => {
      if (company.fields) company.fields = { ...(company.fields as Json), [unknownId]: ['x'] }
    }),
  ),
  broken('company/fields', 'a value of a property of another profile is there', () =>
    companies(search, (company) => {
      if (company.fields) company.fields = { ...(company.fields as Json), [catalogue.otherCustomIdentifierId]: ['7'] }
    }),
  ),
  broken('company/fields', 'fields is empty where none apply', () =>
    companies(search, (company) => {
      company.fields ??= {}
    }),
  ),
  ...(['company/fields', 'page/custom-properties'] as const).map((statement) =>
    broken(statement, 'all properties are shown, whichever are asked for', () => showsAllProperties()),
  ),
  broken('company/calculators', 'a company without calculators has no list', () =>
    companies(search, (company) => {
      if (objectsOf(company.calculators).length === 0) delete company.calculators
    }),
  ),
  broken('company/calculators', 'companies without a match are left out', () =>
    files(search, (page) => {
      page.companies = objectsOf(page.companies).filter(({ calculators }) => objectsOf(calculators).length > 0)
    }),
  ),
  broken('calculator/id', 'the id of a calculator is no UUID', () =>
    calculators((calculator) => {
      calculator.id = 'c-1'
    }),
  ),
  broken('calculator/type-id', 'the type of a calculator is a name', () =>
    calculators((calculator) => {
      calculator.typeId = 'Energy'
    }),
  ),
  broken('calculator/type-id', 'a search for one type gives others too', () =>
    calculators((calculator) => {
      if (Number.parseInt(String(calculator.id).slice(-1), 16) % 2 === 0) calculator.typeId = unknownId
    }),
  ),
  broken('calculator/title', 'the title is absent', () => calculators((calculator) => void delete calculator.title)),
  broken('calculator/period', 'the month is a number', () =>
    calculators((calculator) => {
      if (at(calculator, 'period', 'month') !== undefined) (calculator.period as Json).month = 3
    }),
  ),
  broken('calculator/period', 'the year is a range', () =>
    calculators((calculator) => {
      ;(calculator.period as Json).year = `${String(at(calculator, 'period', 'year'))}/26`
    }),
  ),
  broken('calculator/inputs', 'inputs are empty rather than absent', () =>
    calculators((calculator) => {
      calculator.inputs ??= {}
      calculator.inputs = {}
    }),
  ),
  broken('calculator/inputs', 'an input is another number than was sent', () =>
    calculators((calculator) => mapValues(calculator.inputs, (value) => (value === '12.50' ? '12.5' : value))),
  ),
  broken('calculator/outputs', 'the outputs are a list', () =>
    calculators((calculator) => {
      if (calculator.outputs) calculator.outputs = Object.values(calculator.outputs as Json)
    }),
  ),

  broken('calculator-upsert/group', 'a calculator upsert needs no group', () => takesWithout('groupId')),
  broken('calculator-upsert/group', 'a calculator upsert needs no group, and only an empty one is refused', () =>
    answers('POST /calculators/upsert', ({ asked, answer }) => {
      if (answer.status !== 400 || objectsOf(at(asked(), 'companies')).length === 0) return
      Object.assign(answer, { status: 200, json: { correlationId: crypto.randomUUID() } })
    }),
  ),
  broken('calculator-upsert/identifier', 'a calculator upsert needs no identifier', () =>
    takesWithout('customIdentifierId'),
  ),
  broken('calculator-upsert/field-type', 'an input is stored under another field type', (year) =>
    calculators((calculator) => {
      if (at(calculator, 'period', 'year') !== year || !isObject(calculator.inputs)) return
      calculator.inputs = Object.fromEntries(Object.values(calculator.inputs).map((value) => [unknownId, value]))
    }),
  ),
  broken('calculator-upsert/switches', 'yearly calculation cannot be switched off', () => ({
    pass: ({ path, asked }) => {
      const body = JSON.stringify(asked() ?? null)
      const switched = body.replaceAll('"automaticYearlyCalculation":false', '"automaticYearlyCalculation":true')
      return path.endsWith('/calculators/upsert') && switched !== body ? JSON.parse(switched) : undefined
    },
  })),
]

function mapValues(map: unknown, change: (value: unknown) => unknown): void {
  if (!isObject(map)) return
  for (const [key, value] of Object.entries(map)) map[key] = change(value)
}

function showsAllProperties(): Hooks {
  const all = catalogue.customProperties.map(({ id }) => id)
  return {
    pass: ({ path, asked }) =>
      path.endsWith('/v2/bulk/calculators/search') && Array.isArray(at(asked(), 'customPropertyIds'))
        ? { ...(asked() as Json), customPropertyIds: all }
        : undefined,
  }
}

function takesWithout(name: string) {
  return answers('POST /calculators/upsert', ({ asked, answer }) => {
    if (answer.status === 400 && at(asked(), name) === undefined)
      Object.assign(answer, { status: 200, json: { correlationId: crypto.randomUUID() } })
  })
}
