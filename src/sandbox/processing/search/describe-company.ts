import type { Contract } from '../../../exchange/contract.ts'
import { monthName } from '../../month-words.ts'
import type { World } from '../../service-world.ts'
import type { FoundCalculator } from './stored-calculators.ts'

/** Its names on the wire, and what there is. */
type Service = { contract: Contract; world: World }

/**
 * One company of a calculator search page as JSON text (specification, Calculator search result page). `fields` is the
 * member with its custom property values, or nothing.
 */
export function describeCompany(
  service: Service,
  company: { id: string; name: string },
  fields: Record<string, unknown>,
  calculators: readonly FoundCalculator[],
): string {
  const names = service.contract.names.calculatorsPage
  const described = calculators.map((calculator) => describeCalculator(service, calculator))
  return withMembers({ [names.id]: company.id, [names.name]: company.name, ...fields }, [
    [names.calculators, `[${described.join(',')}]`],
  ])
}

function describeCalculator({ contract, world }: Service, calculator: FoundCalculator): string {
  const names = contract.names.calculatorsPage
  const { id, typeId, year, month, inputs, outputs } = calculator
  const period = month === null ? `${year}` : `${monthName(month)} ${year}`
  const values: [name: string, values: string][] = [
    [names.inputs, inputs],
    [names.outputs, outputs],
  ]
  return withMembers(
    {
      [names.id]: id,
      [names.typeId]: typeId,
      [names.title]: `${world.typeTitles.get(typeId) ?? typeId}, ${period}`,
      [names.period]: { [names.year]: year, ...(month !== null && { [names.month]: monthName(month) }) },
    },
    values.filter(([, text]) => text !== '{}'),
  )
}

/** An object as JSON text, with further members whose values are JSON text already. */
function withMembers(object: Record<string, unknown>, members: readonly [name: string, json: string][]): string {
  const more = members.map(([name, json]) => `,${JSON.stringify(name)}:${json}`)
  return `${JSON.stringify(object).slice(0, -1)}${more.join('')}}`
}
