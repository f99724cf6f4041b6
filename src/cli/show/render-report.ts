import { counted, grouped } from '../../counted.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { RunReport } from '../../pipeline/report/report.ts'
import { comparedWords, comparisonLine } from '../../pipeline/report/report-words.ts'
import { duration, moment, readable, shortened } from './readable.ts'
import { renderHeld } from './row-words.ts'
import { table } from './table.ts'

const verdictWords = {
  succeeded: 'all well',
  partial: 'finished, and something needs a person',
  failed: 'not to be trusted: the counts do not add up',
} as const

/** Rows that something is wrong with, as many as fit a glance. */
const rowsShown = 12

/** A run that has ended with a report, or failed. */
type EndedRun = Pick<Run, 'run_id' | 'state' | 'step' | 'failure' | 'report'>

/** How a run ended, as `--json` prints it: its report, or its failure. */
export function endDocument({ run_id, state, failure, report }: EndedRun): object {
  return state === 'failed' ? { run_id, verdict: 'failed', failure } : (report as RunReport)
}

/** The same as a person reads it. */
export function renderEnd(run: EndedRun): string {
  if (run.state !== 'failed') return renderReport(run.report as RunReport)
  const { step, code, message } = run.failure ?? { step: run.step, code: 'internal_error', message: '' }
  return `Run ${run.run_id} failed at the step ${step} (${readable(code)}):\n  ${readable(message)}\n`
}

/** The report of a run as a person reads it in the morning. */
function renderReport(report: RunReport): string {
  const head = `Run ${report.run_id} of ${report.job}: ${verdictWords[report.verdict]}`
  const when = `${moment(report.started_at)} UTC, ${duration(report.duration_ms)}${report.resumed > 0 ? `, resumed ${counted(report.resumed, 'time')}` : ''}`
  const parts = [
    `${head}\n${when}`,
    streams(report),
    renderHeld(report.held),
    submissions(report),
    notAccepted(report),
    searches(report),
    documents(report),
    comparison(report),
  ]
  if (report.remarks.length > 0) parts.push(report.remarks.map((remark) => `• ${readable(remark)}`).join('\n'))
  if (report.notices.length > 0) parts.push(report.notices.map((notice) => readable(notice)).join('\n'))
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

/** A job that reads nothing has no streams to show. */
function streams({ streams: rows }: RunReport): string {
  if (rows.length === 0) return ''
  // Most nights nothing is gone and nothing is held: the table is wide enough without.
  const gone = rows.some((s) => s.gone > 0)
  const held = rows.some((s) => s.held > 0)
  const overdue = rows.some((s) => s.behind + s.awaited > 0)
  const unsent = rows.some((s) => (s.unsent ?? 0) > 0)
  const unconfigured = rows.some((s) => (s.unconfigured ?? 0) > 0)
  return `What the partner's database brought, and what became of it (rows)\n${table(
    [
      'stream',
      'read',
      'folded',
      'unchanged',
      'changed',
      ...(gone ? ['gone'] : []),
      'pending',
      'invalid',
      'parked',
      'withheld',
      ...(held ? ['held'] : []),
      ...(unsent ? ['unsent'] : []),
      ...(unconfigured ? ['unconfigured'] : []),
      'sent',
      'confirmed',
      'inferred',
      'rejected',
      'unknown',
      ...(overdue ? ['behind', 'awaited'] : []),
    ],
    rows.map((s) => [
      s.stream,
      s.read,
      s.folded,
      s.unchanged,
      s.changed,
      ...(gone ? [s.gone] : []),
      s.pending,
      s.invalid,
      s.parked,
      s.withheld,
      ...(held ? [s.held] : []),
      ...(unsent ? [s.unsent ?? 0] : []),
      ...(unconfigured ? [s.unconfigured ?? 0] : []),
      s.sent,
      s.confirmed,
      s.inferred,
      s.rejected,
      s.unknown,
      ...(overdue ? [s.behind, s.awaited] : []),
    ]),
  )}
${[
  legend,
  ...(overdue ? [overdueLegend] : []),
  ...(unsent ? [unsentLegend] : []),
  ...(unconfigured ? [unconfiguredLegend] : []),
].join('\n')}`
}

/** How the columns add up; the program checks it, and a run whose counts do not is not green. */
const legend = `read = folded (several rows of the partner that make one here) + unchanged + changed
pending = invalid + parked + withheld (rejected before, unchanged since) + held (by the guard) + sent; sent = confirmed + inferred + rejected + unknown`

/** The same where a task was not waited for any longer. */
const overdueLegend =
  'behind a task that has not ended, and so not sent: part of pending; awaited, with that task: part of sent'

/** The same of a run that was not to send anything. */
const unsentLegend = 'unsent: the run was asked for without the step push; part of pending'

/** The same where the configuration lost a stream meanwhile. */
const unconfiguredLegend = 'unconfigured: the stream left the configuration during the run; part of pending'

function submissions({ submissions: rows, streams: read }: RunReport): string {
  if (rows.length === 0) return read.length === 0 ? '' : 'Nothing was sent.'
  return `What was sent, in which requests\n${table(
    ['no', 'kind', 'correlation id', 'status', 'rows', 'accepted', 'rejected', 'took'],
    rows.map((s) => [
      s.submission_id,
      s.kind,
      s.correlation_id,
      s.state === 'settled' ? s.task_status : s.state,
      s.rows,
      s.confirmed + s.inferred,
      s.rejected,
      took(s.attempted_at, s.terminal_at),
    ]),
  )}`
}

function took(from: Date | string | null, to: Date | string | null): string {
  return from === null || to === null ? '–' : duration(new Date(to).getTime() - new Date(from).getTime())
}

function notAccepted({ refused: rows, streams: read }: RunReport): string {
  if (rows.length === 0) return ''
  // Of a run that neither read nor sent, all of it is of others; its verdict says nothing of these rows.
  const when = read.length === 0 ? ' in earlier runs' : ''
  const shown = rows.slice(0, rowsShown)
  const more = rows.length > shown.length ? '\n… nightferry rejected, invalid and unknown show all of them' : ''
  return `What was not accepted${when}, and why\n${table(
    ['hotel', 'stream', 'by', 'reason'],
    shown.map((row) => [
      shortened(row.partner_id, 24),
      row.stream,
      row.state === 'invalid' ? 'us' : row.state === 'unknown' ? 'nobody knows' : 'service',
      shortened([row.code, row.reason].filter(Boolean).join(': '), 110),
    ]),
  )}${more}`
}

function searches({ searches: rows }: RunReport): string {
  return rows
    .map((s) => {
      const gone = s.gone_companies + s.gone_calculators
      const changes = `${counted(s.added, 'value')} added, ${grouped(s.changed)} changed, ${grouped(s.removed)} removed`
      return [
        'What came back',
        `${counted(s.pages, 'page')} with ${counted(s.companies, 'company')}, ${counted(s.calculators, 'calculator')} and ${counted(s.values, 'value')}`,
        ...(s.unchanged > 0 ? [`${grouped(s.unchanged)} of the companies as they were`] : []),
        ...(s.careful_pages > 0
          ? [`${counted(s.careful_pages, 'page')} loaded with care: ${readable(s.first_care ?? '')}`]
          : []),
        `${changes}${gone > 0 ? `; ${counted(s.gone_companies, 'company')} and ${counted(s.gone_calculators, 'calculator')} gone` : ''}`,
      ].join('\n')
    })
    .join('\n\n')
}

/** A report that an earlier version wrote has none. */
function documents({ documents: rows = [] }: Partial<Pick<RunReport, 'documents'>>): string {
  if (rows.length === 0) return ''
  return `What the other searches brought (documents)\n${table(
    ['search', 'status', 'pages', 'elements', 'new', 'changed', 'unchanged', 'left out', 'gone'],
    rows.map((s) => [
      s.search,
      s.state === 'settled' ? s.task_status : s.state,
      s.pages,
      s.documents,
      s.added,
      s.changed,
      s.unchanged,
      s.quarantined,
      s.gone,
    ]),
  )}`
}

/** A report that an earlier version wrote has no other comparisons than that of inputs. */
function comparison({
  comparison: counts,
  comparisons = [],
}: Pick<RunReport, 'comparison'> & Partial<Pick<RunReport, 'comparisons'>>): string {
  const inputs = counts === null ? [] : [`Calculator inputs. ${comparisonLine(counts)}`]
  const compared = comparisons.filter(({ withheld }) => withheld === null)
  const rest = comparisons.filter(({ withheld }) => withheld !== null)
  const rows =
    compared.length === 0
      ? []
      : [
          table(
            ['what', 'rows', 'as sent', 'absent', 'different', 'not judged', 'not settled'],
            compared.map((c) => [
              comparedWords(c.kind),
              c.rows,
              c.equal,
              c.absent,
              c.different,
              c.unjudged,
              c.unsettled,
            ]),
          ),
        ]
  const lines = [
    ...inputs,
    ...rows,
    ...rest.map((c) => readable(`${comparedWords(c.kind)}: not compared, ${c.withheld}.`)),
  ]
  return lines.length === 0 ? '' : `What was sent against what came back\n${lines.join('\n')}`
}
