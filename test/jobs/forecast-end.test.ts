import { expect, it } from 'vitest'
import { deadlineAfter } from '../../src/jobs/due-occurrence.ts'
import { forecastEnd } from '../../src/jobs/run-forecast.ts'

const at = (time: string) => new Date(`2026-11-21T${time}:00Z`)
const steps = ['reference', 'extract', 'push', 'report']
const took = (run_id: number, step: string, from: string, to: string) => ({
  run_id,
  step,
  began_at: at(from),
  ended_at: at(to),
})
/** Two nights of 1 + 10 + 60 minutes, and one whose push took twelve hours. */
const past = [1, 2, 3].flatMap((run) => [
  took(run, 'reference', '02:00', '02:01'),
  took(run, 'extract', '02:01', '02:11'),
  took(run, 'push', '02:11', run === 3 ? '14:11' : '03:11'),
])
const done = [took(9, 'reference', '02:00', '02:02'), took(9, 'extract', '02:02', '02:20')]
const pushing = { step: 'push', startedAt: at('02:00'), steps, done, share: null, resumed: false }
const interrupted = { ...pushing, share: 0.3, resumed: true }
/** A step that is new: no earlier run has it. */
const unheard = { ...interrupted, step: 'new', steps: ['reference', 'extract', 'new', 'report'], share: 2 / 3 }

it.each([
  ['as long as the step usually takes, whatever one night took', pushing, '02:30', '03:20'],
  ['by the speed so far, once it tells', { ...pushing, share: 0.25 }, '03:20', '06:20'],
  ['after what is left of the usual time, where it was interrupted', interrupted, '06:00', '06:42'],
  ['by the speed so far, where it was interrupted and no run before tells', unheard, '06:20', '08:20'],
  ['not by a speed that tells nothing yet', { ...pushing, share: 0.01 }, '02:30', '03:20'],
  ['at once, where the step takes longer than ever', pushing, '05:00', '05:00'],
  ['at once, where only the report is left', { ...pushing, step: 'report' }, '03:20', '03:20'],
  ['with the steps that are yet to come', { ...pushing, step: 'extract', done: done.slice(0, 1) }, '02:05', '03:12'],
])('a run ends %s', (_, standing, now, end) => {
  expect(forecastEnd(standing, past, at(now))).toEqual(at(end))
})

it('nobody can tell when a run ends that has a step before it which was never done', () => {
  expect(forecastEnd({ ...pushing, step: 'reference', done: [] }, past.slice(0, 2), at('02:01'))).toBeNull()
  expect(forecastEnd(pushing, [], at('02:30'))).toBeNull()
  expect(forecastEnd({ ...pushing, step: 'unheard of' }, past, at('02:30'))).toBeNull()
})

it('a deadline is the next time that clocks show it, also when they are put back', () => {
  const zone = 'Europe/Copenhagen'
  expect(deadlineAfter('06:30', zone, new Date('2026-11-21T01:30:00Z'))).toEqual(new Date('2026-11-21T05:30:00Z'))
  expect(deadlineAfter('06:30', zone, new Date('2026-11-21T05:30:00Z'))).toEqual(new Date('2026-11-22T05:30:00Z'))
  expect(deadlineAfter('06:30', zone, new Date('2026-10-24T22:00:00Z'))).toEqual(new Date('2026-10-25T05:30:00Z'))
  expect(deadlineAfter('00:00', zone, new Date('2026-10-24T21:59:00Z'))).toEqual(new Date('2026-10-24T22:00:00Z'))
})
