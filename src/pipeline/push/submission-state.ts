import type { SubmissionState } from '../../db/tables/submission-tables.ts'

/** What can happen to a submission. */
export type SubmissionEvent =
  /** The payload is stored and the POST is about to be made. */
  | 'send_begun'
  /** The service gave a correlation id. */
  | 'accepted'
  /**
   * Nothing left this machine, or the answer declines without taking it up (401, 421, 425, 429, a 404 without an
   * `errorCode`): try again later.
   */
  | 'not_sent'
  /** The answer says that the request as it is was not carried out, and will not be: see `judgePostAnswer`. */
  | 'refused'
  /** The service answered 400, 403 or 422, which may be over one of many rows: the other parts of the request tell. */
  | 'refused_over_rows'
  /** The POST's answer was lost, or the process that made it died. */
  | 'answer_lost'
  /** No task that may be ours is unfinished: sending again is safe. */
  | 'cleared'
  /** The same, and its answers are lost however often it is sent, which may be over one of many rows. */
  | 'answers_given_up'
  /** The task reached a terminal status. */
  | 'task_terminal'
  /** The service no longer knows the task. */
  | 'task_unknown'
  /** A search has not ended for so long that nothing waits for it any longer. */
  | 'search_overdue'
  /** Outcomes are stored. */
  | 'settled'
  /** A person says which task the lost answer belongs to. */
  | 'adopted'
  /** A person, or the run that replaced the submission's own, gave it up. */
  | 'abandoned'

/**
 * Next state of a submission. Pure: no clock, no I/O. An event that a state does not expect leaves it as it is: looks
 * come twice and late, and a settled submission ignores all that follows.
 *
 * - `planned`: its rows are in flight and nothing was sent. Left by `send_begun`.
 * - `sending`: the POST is or was under way. Anyone who finds it here without its sender knows that the answer is lost.
 * - `uncertain`: the service may or may not have a task. Left by a late answer, once a person says which task it is,
 *   once sending again is safe, or once that was done often enough.
 * - `accepted`: the correlation id is stored; polls follow until the task is terminal or unknown. A run does not wait
 *   for one that is overdue (`overdue_since`), nor for an overdue `uncertain` one; both keep their rows.
 * - `terminal`: the task is stored as it came, or what the service said instead; outcomes are still to be read or
 *   judged.
 * - `settled`, `refused`, `lost`, `abandoned`: the end; rows are released.
 *
 * A person can end every state that waits. Not `sending`: anyone who holds the submission's lock and finds it there
 * knows that the answer is lost, and says so first.
 */
export function nextState(state: SubmissionState, event: SubmissionEvent): SubmissionState {
  switch (state) {
    case 'planned':
      return event === 'send_begun' ? 'sending' : event === 'abandoned' ? 'abandoned' : state
    case 'sending':
      if (event === 'accepted') return 'accepted'
      if (event === 'not_sent') return 'planned'
      if (event === 'refused') return 'refused'
      if (event === 'refused_over_rows') return 'terminal'
      return event === 'answer_lost' ? 'uncertain' : state
    case 'uncertain':
      if (event === 'accepted' || event === 'adopted') return 'accepted'
      if (event === 'cleared') return 'planned'
      if (event === 'answers_given_up') return 'terminal'
      if (event === 'search_overdue') return 'lost'
      return event === 'abandoned' ? 'abandoned' : state
    case 'accepted':
      if (event === 'task_terminal') return 'terminal'
      if (event === 'task_unknown' || event === 'search_overdue') return 'lost'
      return event === 'abandoned' ? 'abandoned' : state
    case 'terminal':
      if (event === 'refused') return 'refused'
      return event === 'settled' ? 'settled' : event === 'abandoned' ? 'abandoned' : state
    case 'settled':
    case 'refused':
    case 'lost':
    case 'abandoned':
      return state
    default:
      return state satisfies never
  }
}
