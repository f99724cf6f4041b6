import type { Run, RunAsked } from '../db/tables/run-tables.ts'
import type { Deps } from '../pipeline/deps.ts'

/** `done`: go on with the next step. `waiting`: whatever the step waits for asks for the next look at the run. */
export type StepResult = 'done' | 'waiting'

export type Step = {
  name: string
  /** What of it can be asked for by name; it does only these then. */
  parts?: readonly string[]
  run: (deps: Deps, run: Run) => Promise<StepResult>
}

/**
 * A job is a list of steps; a run of it stands at one of them, durably. Every step can be begun again. The last one
 * ends the run, and is part of every run.
 */
export type Job = { name: string; steps: readonly [Step, ...Step[]] }

/** Steps that make no sense without the one after them: pages that nobody completes would prove nothing. */
const belongTogether: readonly (readonly [string, string])[] = [['pull', 'reconcile']]

/**
 * The steps of a run, in the order of its job, as it was asked for. What is read and sent is looked at in between: rows
 * that contradict each other would go out, and the report could not say of how many rows it has to tell. Pure.
 */
export function stepsOf(job: Job, { only }: RunAsked): readonly Step[] {
  if (only === undefined) return job.steps
  const wanted = new Set(only)
  for (const [one, other] of belongTogether) {
    if (wanted.has(one) || wanted.has(other)) wanted.add(one).add(other)
  }
  if (wanted.has('extract') && wanted.has('push')) wanted.add('preflight')
  const isWanted = ({ name, parts = [] }: Step) => wanted.has(name) || parts.some((part) => wanted.has(part))
  return job.steps.filter((step, index) => isWanted(step) || index === job.steps.length - 1)
}

/** The steps that only a process can do which is configured to send. */
const sendingSteps: readonly string[] = ['extract', 'preflight', 'push', 'compare']

/** Whether a run of the job has a step that needs what only sending needs. */
export function needsToSend(job: Job, asked: RunAsked): boolean {
  return stepsOf(job, asked).some(({ name }) => sendingSteps.includes(name))
}

/** Whether a run of the job sends rows, and so takes over what earlier runs left in flight. */
export function sendsRows(job: Job, asked: RunAsked): boolean {
  return stepsOf(job, asked).some(({ name }) => name === 'push')
}
