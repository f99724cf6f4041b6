import { counted, grouped } from '../../counted.ts'
import type { LedgerCopy } from '../../rehearsal/copy/copy-ledger.ts'
import type { KeptHere, RefusedThere, RehearsedNight } from '../../rehearsal/result/rehearsed-night.ts'
import type { WorldHead } from '../../world/world-form.ts'
import { duration, moment, readable, shortened } from './readable.ts'
import { rowWords } from './row-words.ts'
import { table } from './table.ts'

/** What a rehearsal came to, as it is printed. */
export type Rehearsal = {
  /** Of when and of which deployment the mirror is; null: a world that was made by hand. */
  mirror: WorldHead['mirrored']
  copy: LedgerCopy & { database: string | null }
  /** Null where the run failed. */
  night: RehearsedNight | null
  failure: { step: string; code: string; message: string } | null
  /** Why the real run would send nothing, although the rehearsal went on. */
  stop: { code: string; message: string } | null
  notes: string[]
}

/** What the word accepted rests on. */
const accepted =
  'Accepted: by the rules that the specification states, and where it is silent by those that docs/spec-gaps.md assumes.'

/** A rehearsal as a person reads it in the evening. */
export function renderRehearsal(rehearsal: Rehearsal, limit: number): string {
  const { night, failure, stop, notes, mirror, copy } = rehearsal
  const parts = [
    head(mirror),
    stop === null
      ? ''
      : readable(
          `The real run would stop (${stop.code}), and send nothing:\n  ${stop.message}.\n  nightferry destination decides that; this rehearsal went on as if it were the same.`,
        ),
    failure === null
      ? ''
      : readable(`The night would fail at the step ${failure.step} (${failure.code}):\n  ${failure.message}`),
    ...(night === null ? [] : nightParts(night, limit)),
    listed('What to know of this rehearsal', notes),
    listed('What the mirror cannot see', mirror?.notSeen ?? []),
    copy.database === null
      ? ''
      : `The copy of the ledger and the mirror are kept in ${copy.database}. The next rehearsal drops them.`,
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function head(mirror: WorldHead['mirrored']): string {
  const of = mirror === null ? 'a world made by hand' : `${mirror.from}, as it was at ${moment(mirror.at)} UTC`
  return readable(
    `A rehearsal of tonight against a mirror of ${of}. The service got nothing of it, and the ledger is as it was.`,
  )
}

function nightParts(night: RehearsedNight, limit: number): string[] {
  return [
    `What would be sent (rows)\n${table(
      ['stream', 'sent', 'accepted', 'rejected', 'unknown', 'invalid', 'parked'],
      night.streams.map((s) => [
        s.stream,
        s.sent,
        s.confirmed + s.inferred,
        s.rejected,
        s.unknown + s.awaited,
        s.invalid,
        s.parked,
      ]),
    )}\n${accepted}`,
    refusals('What the service would reject, as its specification states', ofGround(night, 'stated'), night),
    refusals(
      'What it would probably reject: the specification does not say so, and we assume it',
      ofGround(night, 'assumed'),
      night,
    ),
    night.refusedMore ? cutAt('would be refused', limit) : '',
    kept(night),
    night.keptMore ? cutAt('would not be sent', limit) : '',
    newlyParked(night.newlyParked),
    night.unseenInputs === 0
      ? ''
      : `Not known: ${counted(night.unseenInputs, 'input')} of field types that the mirror has not seen. It took them; the service may not.`,
    requests(night.requests),
    howLong(night),
    back(night),
    listed('What the run would say', night.remarks),
  ]
}

function ofGround({ refused }: RehearsedNight, ground: RefusedThere['ground']): RefusedThere[] {
  return refused.filter((row) => row.ground === ground)
}

function refusals(title: string, rows: readonly RefusedThere[], { refusedMore }: RehearsedNight): string {
  if (rows.length === 0) return ''
  const lines = table(
    ['hotel', 'stream', 'row', 'code', 'reason'],
    rows.map((row) => [...named(row), row.code, readable(row.reason ?? '')]),
  )
  const grounds = new Map(
    rows.map(({ code, why, unless }) => [code, unless === null ? why : `${why}. Unless ${unless}`]),
  )
  const whys = [...grounds].map(([code, why]) => `  ${code}: ${why}.`)
  return [`${title} (${howMany(rows, refusedMore)})`, lines, ...whys].join('\n')
}

function kept({ kept: rows, keptMore }: RehearsedNight): string {
  if (rows.length === 0) return ''
  const lines = table(
    ['hotel', 'stream', 'row', 'reason'],
    rows.map((row) => [...named(row), readable(row.reason ?? '')]),
  )
  return `What Nightferry would not send, because it cannot be right (${howMany(rows, keptMore)})\n${lines}`
}

function newlyParked(rows: number): string {
  if (rows === 0) return ''
  const are = rows === 1 ? 'is' : 'are'
  return `Not sent: ${counted(rows, 'row')} would be parked that ${are} not parked now. With --keep, nightferry parked --rows shows in the copy what they wait for.`
}

/** Of a list that was cut, older rows of the same ground may have been cut off. */
function howMany(rows: readonly unknown[], more: boolean): string {
  return more ? `at least ${grouped(rows.length)}` : grouped(rows.length)
}

function cutAt(what: string, limit: number): string {
  return `Only the newest ${grouped(limit)} of the rows that ${what} are named; --limit names more.`
}

function named({ partner_id, stream, content }: KeptHere): string[] {
  return [partner_id, stream, shortened(rowWords(stream, content), 80)]
}

function requests(all: RehearsedNight['requests']): string {
  const failed = all.filter(({ said }) => said !== null)
  if (failed.length === 0) return ''
  return `Requests that would be refused as a whole\n${table(
    ['kind', 'partition', 'rows', 'state', 'the service'],
    failed.map(({ kind, partition, rows, state, said }) => [kind, partition, rows, state, readable(said ?? '')]),
  )}`
}

function howLong({ forecast, ownSeconds, requests: sent }: RehearsedNight): string {
  const own = `Our own part took ${duration(ownSeconds * 1000)} here.`
  if (forecast.tasks === 0)
    return `How long it would take\n  ${own} How long the service takes cannot be told: no task of these kinds is known.`
  const from = duration(forecast.sideBySide * 1000)
  const to = duration(forecast.oneByOne * 1000)
  const service = `The service would take ${from} if it works on the requests of a wave side by side, and ${to} if one after the other (learned from ${counted(forecast.tasks, 'earlier task')}).`
  const unknown =
    forecast.unknownKinds.length === 0
      ? ''
      : `\n  Not in that: ${forecast.unknownKinds.join(', ')}, of which no task is known.`
  return `How long it would take, with ${counted(sent.length, 'request')}\n  ${service}${unknown}\n  ${own}`
}

function back({ back: b }: RehearsedNight): string {
  return (
    `What would come back\n  ${counted(b.pages, 'page')} with ${grouped(b.companies)} companies and ${grouped(b.calculators)} calculators: ` +
    `${grouped(b.added)} values added, ${grouped(b.changed)} changed, ${grouped(b.removed)} removed.\n` +
    '  Outputs are those that the service has now: the mirror does not know its formulas.'
  )
}

function listed(title: string, sentences: readonly string[]): string {
  return sentences.length === 0 ? '' : `${title}\n${sentences.map((sentence) => readable(`  ${sentence}`)).join('\n')}`
}
