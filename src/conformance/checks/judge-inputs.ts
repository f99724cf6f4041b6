import type { Bench } from '../bench.ts'
import type { WrittenCalculators } from '../evidence/written-calculators.ts'
import { differs, holds, notObserved, type Observation } from '../observation.ts'
import { at, isSameId, said } from '../wire-json.ts'
import { judgeImport, workDone } from './judge-task.ts'

const refusedGuess = 'the id of a variable was refused as a field type: name one with --field-type'

/** The end of a calculator upsert. Where its field type was guessed and refused, that tells nothing. */
export function judgeCalculators(bench: Bench, { run, isRefusedGuess }: WrittenCalculators): Observation {
  const end = judgeImport(bench, run, { statuses: workDone, file: true })
  return end.verdict === 'differs' && isRefusedGuess ? notObserved(`${end.seen}; ${refusedGuess}`) : end
}

/**
 * Whether an input that was sent stands under its field type. Under which id a page shows it is assumed: where no
 * variable has the id of the field type, it may come back under another.
 */
export function judgeInput(
  { contract }: Pick<Bench, 'contract'>,
  { stored, fieldTypeId, isVariable, isRefusedGuess }: WrittenCalculators,
  isSent: (value: unknown) => boolean,
): Observation {
  if (stored === null) return notObserved('the calculator search does not show the hotel')
  const { inputs } = contract.names.calculatorsPage
  const values = stored.flatMap((calculator) => Object.entries(at(calculator, inputs) ?? {}))
  const own = values.filter(([id]) => isSameId(id, fieldTypeId)).map(([, value]) => value)
  const seen = own.map(said).join(', ') || 'nothing'
  if (own.some(isSent)) return holds(`stored under its field type: ${seen}`)
  if (isRefusedGuess) return notObserved(refusedGuess)
  const elsewhere = isVariable ? undefined : values.find(([, value]) => isSent(value))
  return elsewhere === undefined
    ? differs(`stored under its field type: ${seen}`)
    : notObserved(`no variable has the id of the field type; the input came back under ${elsewhere[0]}`)
}
