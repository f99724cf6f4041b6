import { describe, expect, it } from 'vitest'
import type { SubmissionState } from '../../../src/db/tables/submission-tables.ts'
import { unfinishedStates } from '../../../src/db/tables/submission-tables.ts'
import { nextState, type SubmissionEvent } from '../../../src/pipeline/push/submission-state.ts'

const events: SubmissionEvent[] = [
  'send_begun',
  'accepted',
  'not_sent',
  'refused',
  'refused_over_rows',
  'answer_lost',
  'cleared',
  'answers_given_up',
  'task_terminal',
  'task_unknown',
  'search_overdue',
  'settled',
  'adopted',
  'abandoned',
]

/** Every move that there is; whatever is not here leaves the state as it is. */
const moves: Record<SubmissionState, Partial<Record<SubmissionEvent, SubmissionState>>> = {
  planned: { send_begun: 'sending', abandoned: 'abandoned' },
  sending: {
    accepted: 'accepted',
    not_sent: 'planned',
    refused: 'refused',
    refused_over_rows: 'terminal',
    answer_lost: 'uncertain',
  },
  uncertain: {
    accepted: 'accepted',
    adopted: 'accepted',
    cleared: 'planned',
    answers_given_up: 'terminal',
    search_overdue: 'lost',
    abandoned: 'abandoned',
  },
  accepted: { task_terminal: 'terminal', task_unknown: 'lost', search_overdue: 'lost', abandoned: 'abandoned' },
  terminal: { settled: 'settled', refused: 'refused', abandoned: 'abandoned' },
  settled: {},
  refused: {},
  lost: {},
  abandoned: {},
}
const states = Object.keys(moves) as SubmissionState[]
const byOrder = (a: SubmissionState, b: SubmissionState) => states.indexOf(a) - states.indexOf(b)

describe.each(states)('a submission that is %s', (state) => {
  it.each(events.map((event) => [event, moves[state][event] ?? state] as const))(
    'the state after %s is %s',
    (event, next) => {
      expect(nextState(state, event)).toBe(next)
    },
  )
})

describe('the states', () => {
  it('the states are unfinished exactly where something can still happen', () => {
    const open = states.filter((state) => events.some((event) => nextState(state, event) !== state))
    expect(open.toSorted()).toEqual([...unfinishedStates].toSorted())
  })

  it('send again only after the task list was read', () => {
    const towardsSending = states
      .filter((state) => state !== 'planned')
      .flatMap((state) =>
        events.filter(
          (event) => ['planned', 'sending'].includes(nextState(state, event)) && nextState(state, event) !== state,
        ),
      )
    expect(towardsSending).toEqual(['not_sent', 'cleared'])
  })

  it('can be ended by a person wherever something is waited for, and nowhere else', () => {
    const ended = states.filter((state) => nextState(state, 'abandoned') !== state)
    expect(ended).toEqual(unfinishedStates.filter((state) => state !== 'sending').toSorted(byOrder))
  })

  it('take a task from a person only while the answer is lost', () => {
    expect(states.filter((state) => nextState(state, 'adopted') !== state)).toEqual(['uncertain'])
  })
})
