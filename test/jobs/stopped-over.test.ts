import { expect, test } from 'vitest'
import type { SubmissionState } from '../../src/db/tables/submission-tables.ts'
import { stoppedOver } from '../../src/jobs/look-at-run.ts'

const of = (state: SubmissionState, correlation_id: string | null = 'c-1') => ({
  submission_id: 12,
  kind: 'calculators',
  state,
  correlation_id,
  uncertain_since: null as Date | null,
})

test('a run that stopped over a task names submission, task and the verb that gives it up', () => {
  const words = stoppedOver('exchange_failed', of('accepted'))
  expect(words).toMatch(/^It stopped over submission 12 \(calculators, task c-1\): /)
  expect(words).toContain('nightferry run nightly-sync goes on with it')
  expect(words).toContain('nightferry abandon 12 gives it up')
})

test.each(['uncertain', 'sending'] as const)('a run that stopped over a lost answer (%s) names adopt', (state) => {
  const words = stoppedOver('exchange_failed', of(state, null))
  expect(words).toContain('submission 12 (calculators), whose answer was lost')
  expect(words).toContain('nightferry adopt 12 <correlation id>')
  expect(words).toContain('nightferry abandon 12')
})

test('a run that stopped over a request of which nothing left says that the next one plans its rows again', () => {
  const words = stoppedOver('exchange_failed', of('planned', null))
  expect(words).toMatch(/\(calculators\), of which nothing was sent: nightferry run nightly-sync plans its rows again /)
  expect(words).not.toContain('abandon 12')
})

test('a run that stopped over a request that is to be sent again names the verb that gives it up', () => {
  const words = stoppedOver('exchange_failed', { ...of('planned', null), uncertain_since: new Date() })
  expect(words).toContain('nightferry run nightly-sync sends it again')
  expect(words).toContain('nightferry abandon 12 gives it up')
})

test.each(['planned', 'sending', 'uncertain', 'accepted', 'terminal'] as const)(
  'a run that stopped over a search (%s) says that the next one searches again, and names no other verb',
  (state) => {
    const words = stoppedOver('exchange_failed', { ...of(state), kind: 'companies_search' })
    expect(words).toMatch(/\(companies_search, task c-1\): the next run searches again/)
    expect(words).not.toMatch(/abandon|adopt/)
  },
)

test.each(['settled', 'refused', 'lost', 'abandoned'] as const)('nobody is told to abandon what is %s', (state) => {
  expect(stoppedOver('exchange_failed', of(state))).not.toContain('abandon 12')
})

test.each(['exchange_unauthorized', 'task_list_too_short'])(
  '%s names no submission of its own, because the remedy is in its own words',
  (code) => {
    expect(stoppedOver(code, of('uncertain'))).toBeNull()
  },
)
