import type { SizeVerdict } from '../../../db/tables/planning.ts'

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
 * of several that fail side by side only the first counts. What the service calls too large is too large at any size.
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
      return halved
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
