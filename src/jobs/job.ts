import type { Run } from '../db/tables/run-tables.ts'
import type { Deps } from '../pipeline/deps.ts'

/** `done`: go on with the next step. `waiting`: whatever the step waits for asks for the next look at the run. */
export type StepResult = 'done' | 'waiting'

export type Step = { name: string; run: (deps: Deps, run: Run) => Promise<StepResult> }

/** A job is a list of steps; a run of it stands at one of them, durably. Every step can be begun again. */
export type Job = { name: 'nightly-sync'; steps: readonly [Step, ...Step[]] }
