export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

export type Known = {
  companies: { company_id: string; name: string | null }[]
  calculators: {
    calculator_id: string
    company_id: string
    title: string | null
    period_year: number
    period_month: number | null
  }[]
  values: {
    calculator_id: string
    company_id: string
    direction: 'input' | 'output'
    variable_id: string
    variable_name: string | null
    value: string
  }[]
  properties: {
    company_id: string
    property_id: string
    property_name: string | null
    ordinal: number
    value: string
  }[]
}

/** The places of all parts of a document, but for the document itself. */
export function partsOf(document: Json, path: string[] = []): string[][] {
  if (typeof document !== 'object' || document === null) return path.length === 0 ? [] : [path]
  const inside = Object.entries(document).flatMap(([key, value]) => partsOf(value, [...path, key]))
  return path.length === 0 ? inside : [path, ...inside]
}

/** A copy in which the part at a place (counted round) is something else; undefined: it is not there. */
export function withDamage(document: Json, at: number, become: Json | undefined): Json {
  const copy = structuredClone(document)
  const places = partsOf(copy)
  const place = places[at % Math.max(1, places.length)]
  const last = place?.at(-1)
  if (place === undefined || last === undefined) return copy
  let owner: Json | undefined = copy
  for (const key of place.slice(0, -1)) owner = memberOf(owner, key)
  if (Array.isArray(owner)) owner.splice(Number(last), 1, ...(become === undefined ? [] : [become]))
  else if (isObject(owner)) {
    if (become === undefined) delete owner[last]
    else owner[last] = become
  }
  return copy
}

/**
 * What is not known any more, or otherwise, although the page does not say so by the rules of the specification
 * (Calculator search result page): written from those rules, and from nothing of the loader.
 */
export function lostAgainstTheRules(before: Known, after: Known, page: Json): string[] {
  const lost: string[] = []
  const listed = listOf(memberOf(page, 'companies'))
  const named = listed.every((one) => isUuid(memberOf(one, 'id')))
  const companyOf = (id: string) => listed.find((one) => memberOf(one, 'id') === id)
  const isGone = (id: string) => named && companyOf(id) === undefined

  for (const { company_id, name } of before.companies) {
    const now = after.companies.find((one) => one.company_id === company_id)
    if (now === undefined) {
      if (!isGone(company_id)) lost.push(`company ${company_id}`)
    } else if (now.name !== name && now.name !== memberOf(companyOf(company_id), 'name'))
      lost.push(`name ${company_id}`)
  }
  const readable = (id: string) => {
    const one = companyOf(id)
    return isObject(one) && Array.isArray(one.calculators) && isAbsentOrObject(one.fields) ? one : undefined
  }
  const calculatorOf = (company: string, id: string) =>
    listOf(readable(company)?.calculators).find((one) => memberOf(one, 'id') === id)
  const calculatorIsGone = (company: string, id: string) =>
    isGone(company) ||
    (readable(company) !== undefined &&
      listOf(readable(company)?.calculators).every((one) => isUuid(memberOf(one, 'id'))) &&
      calculatorOf(company, id) === undefined)

  for (const { calculator_id: id, company_id, title, period_year, period_month } of before.calculators) {
    const now = after.calculators.find((one) => one.calculator_id === id)
    const given = calculatorOf(company_id, id)
    if (now === undefined) {
      if (!calculatorIsGone(company_id, id)) lost.push(`calculator ${id}`)
      continue
    }
    if (now.title !== title && now.title !== memberOf(given, 'title')) lost.push(`title ${id}`)
    const period = memberOf(given, 'period')
    if (now.period_year !== period_year && now.period_year !== memberOf(period, 'year')) lost.push(`year ${id}`)
    const yearly = isObject(period) && period.month === undefined
    if (now.period_month !== period_month && !(now.period_month === null && yearly)) lost.push(`month ${id}`)
  }
  for (const { calculator_id: id, company_id, direction, variable_id, variable_name, value } of before.values) {
    const now = after.values.find(
      (one) => one.calculator_id === id && one.direction === direction && one.variable_id === variable_id,
    )
    const given = calculatorOf(company_id, id)
    const groups = [memberOf(given, 'inputs'), memberOf(given, 'outputs')]
    const group = groups[direction === 'input' ? 0 : 1]
    const wellFormed = given !== undefined && groups.every(isAbsentOrObject)
    if (now === undefined) {
      const absent = wellFormed && memberOf(group, variable_id) === undefined
      if (!absent && !calculatorIsGone(company_id, id)) lost.push(`${direction} ${variable_id} of ${id}`)
    } else {
      if (now.value !== value && (now.value !== memberOf(group, variable_id) || now.value.trim() === '')) {
        lost.push(`${direction} ${variable_id} of ${id} became ${now.value}`)
      }
      if (
        now.variable_name !== variable_name &&
        !isNamed(page, 'calculatorVariables', variable_id, now.variable_name)
      ) {
        lost.push(`name of ${variable_id}`)
      }
    }
  }
  for (const { company_id, property_id, property_name, ordinal, value } of before.properties) {
    const now = after.properties.find(
      (one) => one.company_id === company_id && one.property_id === property_id && one.ordinal === ordinal,
    )
    const one = readable(company_id)
    const list = memberOf(one?.fields, property_id)
    const strings = Array.isArray(list) && list.every((item) => typeof item === 'string' && item.trim() !== '')
    const isListed = listOf(memberOf(page, 'customProperties')).some((entry) => memberOf(entry, 'id') === property_id)
    const speaks = one !== undefined && isListed && (list === undefined || strings)
    const says = strings ? list[ordinal - 1] : undefined
    if (now === undefined) {
      if (!(speaks && says === undefined) && !isGone(company_id))
        lost.push(`${property_id} ${ordinal} of ${company_id}`)
    } else {
      if (now.value !== value && !(speaks && now.value === says))
        lost.push(`${property_id} ${ordinal} of ${company_id}`)
      if (now.property_name !== property_name && !isNamed(page, 'customProperties', property_id, now.property_name)) {
        lost.push(`name of ${property_id}`)
      }
    }
  }
  return lost
}

function isNamed(page: Json, list: string, id: string, name: string | null): boolean {
  return listOf(memberOf(page, list)).some((entry) => memberOf(entry, 'id') === id && memberOf(entry, 'name') === name)
}

function memberOf(value: Json | undefined, key: string): Json | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.entries(value).find(([name]) => name === key)?.[1]
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isAbsentOrObject(value: Json | undefined): boolean {
  return value === undefined || isObject(value)
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

function isUuid(value: Json | undefined): boolean {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)
}
