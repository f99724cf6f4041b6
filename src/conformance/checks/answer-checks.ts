import type { Bench } from '../bench.ts'
import type { Hotel } from '../evidence/hotel.ts'
import { cameBack, isKept, type WrittenAnswers, writeAnswers } from '../evidence/written-answers.ts'
import { faultless, judged, notObserved, type Observation, together } from '../observation.ts'
import { isSameId, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { type Check, type Checks, givenHotel } from './check.ts'
import { judgeTyped } from './judge-answers.ts'
import { failedRows, judgeImport, judgeTaken } from './judge-task.ts'

/** Specification, Resources: what the framework answers upsert is sent. */
export const answerChecks: Checks<'answers'> = {
  'answers/framework': storedAnswers('frameworkIds', (written, bench) => {
    const { frameworkIds } = bench.contract.names.frameworkAnswersPage
    const periods = withFramework(written).flatMap((sent) => cameBack(bench, written, sent))
    const assigned = periods.filter((period) => {
      const ids = period[frameworkIds]
      return Array.isArray(ids) && ids.some((id) => isSameId(id, written.framework.id))
    })
    return judged(
      assigned.length > 0 && assigned.length === periods.length,
      `assigned to ${assigned.length} of ${periods.length} periods that came back`,
    )
  }),
  'answers/entry': storedAnswers('omissions', (written, bench, hotel) => {
    const kept = (by: 'value' | 'id') =>
      withFramework(written).filter((sent) => sent.by === by && isKept(bench, written, sent)).length
    const rows = failedRows(bench, written.mixed.task).filter(
      (row) => row[bench.contract.names.rowError.companyId] === hotel.companyId,
    )
    return judged(
      kept('value') > 0 && kept('id') > 0,
      `periods that came back: ${kept('value')} named by value, ${kept('id')} by id; ${rows.length} failed rows name the company`,
    )
  }),
  'answers/periods': storedAnswers('omissions', (written, bench) => {
    const { periodType, month } = bench.contract.names.frameworkAnswersPage
    const seen = written.stored.map((period) => `${textOf(period[periodType])} ${textOf(period[month]) ?? ''}`.trim())
    const kept = withFramework(written).every((sent) => cameBack(bench, written, sent).length === 1)
    return judged(kept, seen.join(', ') || 'no period came back')
  }),
  'answers/yearly': storedAnswers('omissions', (written, bench) => {
    const kept = [1, 7].every((month) => cameBack(bench, written, { type: 'yearly', month }).length > 0)
    return judged(kept, `start months: ${monthsOf(bench, written, 'yearly')}`)
  }),
  'answers/monthly': storedAnswers(null, (written, bench) => {
    if (!written.sent.some(({ type }) => type === 'monthly')) return notObserved('no data point takes a monthly answer')
    const kept = cameBack(bench, written, { type: 'monthly', month: 3 }).length > 0
    return judged(kept, `months: ${monthsOf(bench, written, 'monthly')}`)
  }),
  'answers/both': storedAnswers('omissions', (written, bench) => {
    const { answers, omissions } = bench.contract.names.frameworkAnswersPage
    const kinds = written.stored.map((period) =>
      kindOfPeriod(objectsOf(period[answers]).length > 0, objectsOf(period[omissions]).length > 0),
    )
    const sent = new Set(
      withFramework(written).map((period) => kindOfPeriod(period.answers.length > 0, period.declined.length > 0)),
    )
    const kept = judged(
      [...sent].every((kind) => kinds.includes(kind)),
      `periods with ${kinds.join(', with ')}`,
    )
    return sent.size === 3 ? kept : together(kept, notObserved('no framework lets all three kinds be sent'))
  }),
  'answers/typed': storedAnswers(null, (written, bench) => judgeTyped(bench, written)),
  'answers/omission': storedAnswers('omissions', (written, bench) => {
    const declining = written.sent.filter(({ declined }) => declined.length > 0)
    const lost = declining.filter((sent) => !isKept(bench, written, { ...sent, answers: [] }))
    return together(
      judgeImport(bench, written.withoutFramework, { statuses: ['success'], file: false }),
      faultless(
        lost.map(({ hasFramework }) => `an omission sent ${hasFramework ? 'with' : 'without'} a framework is lost`),
        `${declining.length} omissions came back by their questions, sent with a framework and without`,
      ),
    )
  }),
  'answers/open-fields': givenHotel(writeAnswers, ({ mixed }) => judgeTaken(mixed)),
}

type Stored = WrittenAnswers & { stored: WireObject[] }

/**
 * A check of what came back of the answers, with what their pages must show for it: the specification does not show
 * these pages, and what they do not show at all proves nothing. Nor does what came back where the year held something
 * before: an earlier run sent the same.
 */
function storedAnswers(
  needs: keyof WrittenAnswers['shown'] | null,
  judge: (written: Stored, bench: Bench, hotel: Hotel) => Observation,
): Check {
  return givenHotel(writeAnswers, ({ stored, ...answers }, bench, hotel) => {
    const names = bench.contract.names.frameworkAnswersPage
    if (stored === null) return notObserved(`no page shows ${names.periods} of any company`)
    if (needs !== null && !answers.shown[needs]) return notObserved(`no period of any company shows ${names[needs]}`)
    const written = { ...answers, stored }
    const found = judge(written, bench, hotel)
    if (found.verdict !== 'holds' || written.isFresh) return found
    return notObserved(`${found.seen}; but ${hotel.writing.year} was not empty before: name another --year`)
  })
}

function withFramework({ sent }: WrittenAnswers) {
  return sent.filter(({ hasFramework }) => hasFramework)
}

function kindOfPeriod(hasAnswers: boolean, hasOmissions: boolean): string {
  return `${hasAnswers ? 'answers' : ''} ${hasOmissions ? 'omissions' : ''}`.trim()
}

function monthsOf(bench: Pick<Bench, 'contract'>, { stored }: Stored, type: 'yearly' | 'monthly'): string {
  const names = bench.contract.names.frameworkAnswersPage
  const ofType = (period: WireObject) => period[names.periodType] === bench.contract.names.frameworkAnswers[type]
  const months = stored.filter(ofType).map((period) => textOf(period[names.month]) ?? 'no month')
  return months.join(', ') || 'none'
}
