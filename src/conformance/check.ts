import type { Bench } from './bench.ts'
import type { Observation } from './observation.ts'

/** Looks whether one statement of the specification holds. What it throws counts as a difference. */
export type Check = (bench: Bench) => Observation | Promise<Observation>

export type Checks<Id extends string> = Readonly<Record<Id, Check>>
