import type { Profile } from './profile.ts'

const profile = (name: string, share: number, what: string): Profile => ({ name, what, share })

export const taskProfile = {
  tasksCancelled: profile('tasks-cancelled', 0.1, 'A task is cancelled by somebody else before it is processed.'),
  tasksStuck: profile('tasks-stuck', 0.05, 'A task stays in progress for as long as this profile is on.'),
  tasksForgotten: profile(
    'tasks-forgotten',
    0.05,
    'A task is worked on, but the service answers 404 when asked for it.',
  ),
  statusesRepeated: profile(
    'statuses-repeated',
    0.3,
    'A task is re-queued one to three times and enters the same in-flight status again.',
  ),
  pendingRepeated: profile(
    'pending-repeated',
    0.3,
    'A task is re-queued while it waits: it enters Pending once more, and that fires an event.',
  ),
  errorWithoutBody: profile('error-without-body', 0.1, 'A task does nothing and ends in error, without saying why.'),
  errorsWithoutRows: profile(
    'errors-without-rows',
    0.1,
    'A task does nothing and ends in error, with a message and without rows.',
  ),
  poisonRows: profile(
    'poison-rows',
    0.01,
    'A task that holds a poisoned row, of which this is the share, ends in error without rows.',
  ),
  partialWithoutRows: profile(
    'partial-without-rows',
    0.2,
    'An import ends as partly successful and does not say which rows failed.',
  ),
  successWithoutPages: profile(
    'success-without-pages',
    0.1,
    'A task that makes result files ends as successful and lists none.',
  ),
  smallFirst: profile(
    'small-first',
    0.5,
    'A task is held back at its end until a smaller one that was sent later has ended.',
  ),
} as const satisfies Record<string, Profile>

export const taskProfiles: readonly Profile[] = Object.values(taskProfile)

/** Under which a task is judged: its place in the order of all tasks, which the same seed repeats. */
export function taskOccasion(sequence: number | string): string {
  return `task ${sequence}`
}
