import type { Bench } from '../bench.ts'
import { cameBack, type WrittenAnswers } from '../evidence/written-answers.ts'
import { faultless, notObserved, type Observation, together } from '../observation.ts'
import { at, isObject, isSameId, objectsOf, said, textOf, type WireObject } from '../wire-json.ts'

type Names = Bench['contract']['names']
/** What became of an answer: the fault, what the page does not show of it, or neither. */
type Seen = { fault?: string; unseen?: string }

/**
 * Every answer must have come back in its period with its value and its unit. A page whose answers have no value or
 * unit under our names shows nothing of these: the names are assumed.
 */
export function judgeTyped({ contract }: Pick<Bench, 'contract'>, written: WrittenAnswers): Observation {
  const { names } = contract
  const page = names.frameworkAnswersPage
  const seen = written.sent.flatMap((sent) => {
    const back = cameBack({ contract }, written, sent).flatMap((period) => objectsOf(period[page.answers]))
    return sent.answers.map((answer) => {
      const id = answer[names.frameworkAnswers.dataPointId]
      return lookAt(
        names,
        answer,
        back.find((one) => isSameId(one[page.dataPointId], id)),
      )
    })
  })
  if (seen.length === 0) return notObserved('no data point could be answered')
  const unseen = new Set(seen.flatMap((one) => one.unseen ?? []))
  return together(
    faultless(
      seen.flatMap(({ fault }) => fault ?? []),
      `${seen.length} answers came back: ${typesOf(names, written).join(', ')}`,
    ),
    ...[...unseen].map(notObserved),
  )
}

function typesOf({ frameworkAnswers }: Names, { sent }: WrittenAnswers): string[] {
  const values = sent.flatMap(({ answers }) => answers.map((answer) => at(answer, frameworkAnswers.answer)))
  return [...new Set(values.flatMap((value) => (isObject(value) ? Object.keys(value).slice(0, 1) : [])))]
}

function lookAt(names: Names, sent: WireObject, back: WireObject | undefined): Seen {
  const { frameworkAnswers, frameworkAnswersPage: page } = names
  const wanted = sent[frameworkAnswers.answer]
  if (back === undefined) return { fault: `${said(wanted)} did not come back` }
  const value = back[page.answer]
  if (!isObject(value) || !isObject(wanted)) return { unseen: `the page shows no value under ${page.answer}` }
  if (!hasOurNames(names, value)) return { unseen: `the page shows no value of ours under ${page.answer}` }
  const isSame = isSameValue(names, wanted, value)
  const unit = textOf(sent[frameworkAnswers.unitId])
  const shown = textOf(back[page.unitId])
  const isOtherUnit = unit !== null && shown !== null && !isSameId(unit, shown)
  if (!isSame && isOtherUnit) return { unseen: `${said(wanted)} came back in another unit, perhaps converted` }
  if (!isSame) return { fault: `${said(wanted)} came back as ${said(value)}` }
  if (isOtherUnit) return { fault: `${said(wanted)} came back in the unit ${shown}` }
  return unit !== null && shown === null ? { unseen: `the page shows no unit under ${page.unitId}` } : {}
}

/** Whether a value has a member that is called as one of the upsert: a page may spell all of them otherwise. */
function hasOurNames({ frameworkAnswers }: Names, value: WireObject): boolean {
  const { text, number, boolean, dateIso, dateRangeFrom, dateRangeTo, list } = frameworkAnswers
  return [text, number, boolean, dateIso, dateRangeFrom, dateRangeTo, list].some((name) => Object.hasOwn(value, name))
}

/** Whether each member that was sent came back and means the same: numbers by their value, lists in any order. */
function isSameValue({ frameworkAnswers: names }: Names, sent: WireObject, back: WireObject): boolean {
  const days: readonly string[] = [names.dateIso, names.dateRangeFrom, names.dateRangeTo]
  return Object.entries(sent).every(([member, value]) => {
    const other = back[member]
    if (member === names.number) return isNumber(other) && Number(other) === Number(value)
    if (member === names.list) return setOf(other) === setOf(value)
    return days.includes(member) ? textOf(other)?.slice(0, 10) === value : other === value
  })
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
}

function setOf(list: unknown): string | null {
  return Array.isArray(list) ? JSON.stringify(list.map((id) => said(id).toLowerCase()).toSorted()) : null
}
