/** Why a person's action was not taken: nothing was changed. */
type ActionRefusedCode =
  /** There is no such submission. */
  | 'submission_unknown'
  /** The submission is in no state in which the action means anything. */
  | 'submission_state'
  /** A look at the submission did not end while the action waited for it. */
  | 'submission_busy'
  /** The task that was named cannot be the submission's. */
  | 'task_not_adoptable'
  /** The submission went to a destination that is not in use. */
  | 'submission_elsewhere'
  /** A run is under way, and would be wrong about what the action changes. */
  | 'run_under_way'
  /** More rows would be sent again than the guard lets through. */
  | 'resend_beyond_guard'
  /** Another destination has the name. */
  | 'name_taken'

/** An action that cannot be taken as things stand. The message says why, and what can be done instead. */
export class ActionRefused extends Error {
  readonly code: ActionRefusedCode

  constructor(code: ActionRefusedCode, message: string) {
    super(message)
    this.code = code
  }
}
