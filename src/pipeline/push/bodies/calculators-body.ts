import { monthName } from '../../../exchange/month-names.ts'
import { text } from '../../streams/rules/row-content.ts'
import {
  type BodyContext,
  type BodyWriter,
  byPartner,
  type OutgoingRow,
  objectWithList,
  withoutAbsent,
} from './body.ts'

/**
 * Body of POST calculators/upsert: inputs by company and period, with the per-company switches (Calculator upsert
 * request).
 */
export const writeCalculators: BodyWriter = function* (rows, context) {
  const { calculators: names } = context.contract.names
  const head = { [names.groupId]: context.groupId, [names.customIdentifierId]: context.customIdentifierId }
  yield* objectWithList(head, names.companies, companies(rows, context))
}

function* companies(rows: Iterable<OutgoingRow>, context: BodyContext): Generator<object> {
  const { calculators: names } = context.contract.names
  for (const [partnerId, group] of byPartner(rows)) {
    const switches = group.find(({ stream }) => stream === 'calculator_settings')?.content ?? {}
    yield withoutAbsent({
      [names.identifier]: partnerId,
      [names.automaticYearlyCalculation]: switchOf(switches, 'automatic_yearly_calculation'),
      [names.automaticPublishing]: switchOf(switches, 'automatic_publishing'),
      [names.calculators]: group
        .filter(({ stream }) => stream === 'calculator_inputs')
        .map((row) => calculatorOf(row, context)),
    })
  }
}

function calculatorOf({ content }: OutgoingRow, { contract }: BodyContext): object {
  const { calculators: names } = contract.names
  const month = text(content, 'month')
  return {
    [names.period]: {
      [names.year]: Number(text(content, 'year')),
      ...(month !== null && { [names.month]: monthName(Number(month)) }),
    },
    [names.inputs]: Object.entries(content.inputs as Record<string, string | null>).map(([fieldTypeId, value]) => ({
      [names.fieldTypeId]: fieldTypeId,
      // Spec gap: how a stored value is cleared is not shown; a blank one is sent (docs/spec-gaps.md).
      [names.value]: value ?? '',
    })),
  }
}

function switchOf(content: Readonly<Record<string, unknown>>, name: string): boolean | null {
  const value = text(content, name)
  return value === null ? null : value === 'true'
}
