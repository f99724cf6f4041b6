import type { Transaction } from 'kysely'
import { fewestTooLarge, learnedRows, learnRows } from '../../../db/ledger/batch-size.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { SizeVerdict, Submission } from '../../../db/tables/submission-tables.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { HttpError } from '../../../exchange/errors.ts'
import type { Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { searchKinds } from '../../streams/kind-names.ts'
import { type Kind, kindOf } from '../kinds.ts'
import { tellingRows } from '../outcomes/judge-error.ts'

/** Rows per request of a kind that are cut now: what was learned, or the first size, and never more than its cap. */
export async function sizeOf(
  { config, contract, db }: Pick<Deps, 'config' | 'contract' | 'db'>,
  kind: string,
): Promise<number> {
  const known = kindOf(contract, kind)
  return Math.min((await learnedRows(db, kind)) ?? firstRows(config, known), known.maxRows(config.push))
}

function firstRows({ push }: Deps['config'], kind: Kind): number {
  return Math.min(kind.firstRows ?? push.firstRows, kind.maxRows(push))
}

/** What a terminal task says about the size of its request; null: nothing. Pure. */
export function verdictOfTask({ taskStatuses }: Contract, task: Task): SizeVerdict | null {
  if (task.status === taskStatuses.success || task.status === taskStatuses.partialSuccess) return 'succeeded'
  // One that says what became of each row, in its error or in a file, has failed over the rows, not over their number.
  if (task.status === taskStatuses.error && task.rowErrors.length === 0 && task.fileUrl === null) return 'failed'
  return null
}

/** What a refusal says about the size of its request; null: nothing. Pure. */
export function verdictOfRefusal(error: HttpError): SizeVerdict | null {
  return error.status === 413 ? 'too_large' : null
}

/**
 * Learns the size of requests from one that has reached its end, or lost its answer. The last thing in a transaction,
 * because the size of the kind stays locked from here on.
 */
export async function learnSize(
  { config, contract, logger, now }: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  verdict: SizeVerdict | null,
): Promise<void> {
  const { kind, row_count, accepted_at, terminal_at, submission_id } = submission
  if (verdict === null || searchKinds.includes(kind) || row_count === 0) return
  const durationMs =
    accepted_at === null || terminal_at === null ? null : Math.max(0, terminal_at.getTime() - accepted_at.getTime())
  // What was too large stays so for the run, or its rows would be cut at the same size again. The next night tries
  // again.
  const tooLarge = await fewestTooLarge(trx, submission.run_id, kind)
  const known = kindOf(contract, kind)
  const cap = Math.min(known.maxRows(config.push), Math.max(1, Math.floor((tooLarge ?? Infinity) / 2)))
  const evidence = {
    kind,
    updated_at: now(),
    submission_id,
    request_rows: row_count,
    duration_ms: durationMs,
    verdict,
  }
  const limits = { cap, targetMs: config.push.targetTaskMs }
  const { before, after } = await learnRows(trx, evidence, firstRows(config, known), (rows) =>
    nextSize(rows, { rows: row_count, verdict, durationMs }, limits),
  )
  if (before !== after) {
    logger.info({ run_id: submission.run_id, submission_id, kind, verdict, before, after }, 'request_size_learned')
  }
}

/** How one request fared, as far as it tells what size requests of its kind should have. */
export type SizeEvidence = {
  /** Rows that it carried. */
  rows: number
  verdict: SizeVerdict
  /** From its acceptance to its end, in milliseconds; null where one of them is not known. */
  durationMs: number | null
}

type SizeLimits = {
  /** Rows per request at most, by the configuration and the specification. */
  cap: number
  /** How long a request may take so that larger ones are tried. Milliseconds. */
  targetMs: number
}

/** A request that takes so many times the target is too large: less is still well enough. */
const muchSlower = 4

/**
 * Rows below which slowness alone makes no request smaller: what takes so long then is the service's queue, in which
 * more and smaller requests only wait longer. Too low, and a service that is slow whatever it is sent gets row after
 * row.
 */
const fewestIfSlow = 100

/**
 * Rows per request from now on. Pure. Twice as many once a request of about the size in force has succeeded within the
 * target; half of what it carried once one has failed as a whole, has lost its answer or took much longer. A request of
 * half the size or less proves nothing about the size, so that the last small requests of a night change nothing, and
 * of several that fail side by side only the first counts. What the service calls too large is too large at any size;
 * other trouble makes no request so small that its parts cannot tell an outage from a row (`judgeFailedPart`).
 */
export function nextSize(size: number, evidence: SizeEvidence, { cap, targetMs }: SizeLimits): number {
  const current = within(size, cap)
  const { rows, verdict, durationMs } = evidence
  const halved = Math.min(current, within(Math.floor(rows / 2), cap))
  if (verdict === 'too_large') return halved
  if (rows * 2 <= current) return current
  switch (verdict) {
    case 'failed':
    case 'answer_lost':
      return Math.min(current, Math.max(halved, within(tellingRows, cap)))
    case 'succeeded':
      if (durationMs === null) return current
      if (durationMs > muchSlower * targetMs) return Math.min(current, Math.max(halved, within(fewestIfSlow, cap)))
      return durationMs <= targetMs ? within(current * 2, cap) : current
    default:
      return verdict satisfies never
  }
}

function within(size: number, cap: number): number {
  return Math.max(1, Math.min(size, cap))
}
