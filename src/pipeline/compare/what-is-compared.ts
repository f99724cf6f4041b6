import type { SearchSettings } from '../../config/job-settings.ts'
import { carryingJobs, night } from '../../config/known-names.ts'
import type { Config } from '../../config/schema.ts'
import type { Contract } from '../../exchange/contract.ts'
import { carriedStreams } from '../streams/our-streams.ts'
import { type ComparedKind, comparedKinds } from './compared-kinds.ts'

/** A kind of row that runs send, and why nothing compares it with what the service shows; null where a night does. */
type SentKind = { kind: 'inputs' | ComparedKind['name']; streams: string[]; lack: Lack | null }
type Lack = { why: string; todo: string }

/**
 * What of that which runs send is compared with what the service shows, as far as the configuration says. `unseen`:
 * streams whose rows no search shows, so that nothing can. Pure.
 */
export function whatIsCompared(contract: Contract, config: Config): { kinds: SentKind[]; unseen: string[] } {
  const carried = carriedStreams(contract, config)
  const schedule = carryingJobs(config).includes(night) ? null : noNight
  const kinds = [
    { kind: 'inputs' as const, streams: ['calculator_inputs'], lack: schedule },
    ...comparedKinds(contract, config.exchange.customIdentifierId).map((kind) => ({
      kind: kind.name,
      streams: kind.streams,
      lack: schedule ?? lackOf(kind, config.pull.searches),
    })),
  ].map((kind) => ({ ...kind, streams: kind.streams.filter((stream) => carried.includes(stream)) }))
  const shown = kinds.flatMap(({ streams }) => streams)
  return {
    kinds: kinds.filter(({ streams }) => streams.length > 0),
    unseen: carried.filter((stream) => !shown.includes(stream)),
  }
}

const noNight: Lack = {
  why: `only ${night} compares, and it has no schedule`,
  todo: `set jobs.${night}.schedule as well, for instance once a week`,
}

function lackOf(kind: ComparedKind, searches: readonly SearchSettings[]): Lack | null {
  const search = comparingSearch(kind, searches)
  if (typeof search !== 'string') return null
  return {
    why: search,
    todo: 'write the search into pull.searches as docs/runbook.md shows it: Does the service show what was sent?',
  }
}

/** The search that a kind is compared with, or why none can be. Pure. */
export function comparingSearch(
  kind: Pick<ComparedKind, 'search' | 'leavesOut'>,
  searches: readonly SearchSettings[],
): SearchSettings | string {
  const ofKind = searches.filter(({ search }) => search === kind.search)
  const fitting = ofKind.find(({ body }) => kind.leavesOut(body) === null)
  if (fitting !== undefined) return fitting
  const [first] = ofKind
  const reason = first === undefined ? null : kind.leavesOut(first.body)
  return reason ?? `pull.searches has no ${kind.search}`
}
