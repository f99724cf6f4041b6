import { expect, it } from 'vitest'
import { chainOf, type NightTimes, pathOf, type SubmissionTimes } from '../../../bench/night-path.ts'
import { type Slice, spellOf } from '../../../bench/night-processors.ts'

const nobody = { ours: 0, database: 0, partner: 0, service: 0 }
const slice = (from: number, used: Partial<typeof nobody>): Slice => ({
  from,
  at: from + 100,
  used: { ...nobody, ...used },
  queued: 0,
})

it('a stretch in which only the service worked is the service’s, and one in which nobody did is idle', () => {
  const slices = [slice(0, { ours: 0.06, database: 0.04 }), slice(100, { service: 0.1 }), slice(200, {})]
  const { busy, service, idle } = spellOf(slices, 0, 300)
  expect([busy, service, idle].map((seconds) => Math.round(seconds * 1000))).toEqual([100, 100, 100])
})

it('a slice that lies half outside counts half', () => {
  const { busy, idle } = spellOf([slice(0, { ours: 0.05 })], 50, 100)
  expect([busy, idle].map((seconds) => Math.round(seconds * 1000))).toEqual([25, 25])
})

it('on two cores a slice is never longer than itself', () => {
  const { busy, service, idle } = spellOf([slice(0, { ours: 0.1, database: 0.1, service: 0.1 })], 0, 100)
  expect([busy, service, idle].map((seconds) => Math.round(seconds * 1000))).toEqual([100, 0, 0])
})

it('of a stretch in which one of two processors is used, half is free, and of one in which both are, nothing', () => {
  const one = spellOf([slice(0, { ours: 0.05, service: 0.05 })], 0, 100, 2)
  const both = spellOf([slice(0, { ours: 0.1, service: 0.1 })], 0, 100, 2)
  expect([one, both].map(({ free }) => Math.round(free * 1000))).toEqual([50, 0])
})

it('a stretch for which everybody stood in line for a processor is not idle', () => {
  const { busy, queued, idle } = spellOf([{ ...slice(0, { ours: 0.02 }), queued: 0.05 }], 0, 100)
  expect([busy, queued, idle].map((seconds) => Math.round(seconds * 1000))).toEqual([20, 50, 30])
})

/** A submission that takes 60 milliseconds, and 10 to be settled. */
const submission = (submissionId: number, plannedAt: number, search = false): SubmissionTimes => ({
  submissionId,
  search,
  plannedAt,
  committedAt: plannedAt + 4,
  attemptedAt: plannedAt + 10,
  acceptedAt: plannedAt + 20,
  finishedAt: plannedAt + 30,
  terminalAt: plannedAt + 50,
  settledAt: plannedAt + 60,
})

const night: NightTimes = {
  spawnedAt: 0,
  runStartedAt: 100,
  steps: [
    { name: 'extract', from: 100, to: 200 },
    { name: 'push', from: 200, to: 400 },
    { name: 'pull', from: 400, to: 500 },
    { name: 'report', from: 500, to: 550 },
  ],
  // The second and the third are planned when the first is settled; the third is settled last.
  submissions: [submission(1, 210), submission(2, 280), submission(3, 290), submission(4, 410, true)],
  loadedAt: [480, 490],
  runFinishedAt: 550,
  endedAt: 600,
}

it('the chain of a night has no gap and no overlap', () => {
  const links = chainOf(night)
  expect(links.at(0)?.from).toBe(night.spawnedAt)
  expect(links.at(-1)?.to).toBe(night.endedAt)
  expect(links.slice(1).map(({ from }) => from)).toEqual(links.slice(0, -1).map(({ to }) => to))
})

it('the chain goes through what was settled last, and through what was settled before that was planned', () => {
  const service = chainOf(night).filter(({ kind }) => kind === 'service')
  expect(service.map(({ from }) => from)).toEqual([230, 310, 430])
})

it('the critical path leaves out waits, and what was idle while something was to be done', () => {
  // Idle throughout: work is waited for as well, and only the service's own times are left.
  const idle = pathOf(chainOf(night), [{ from: 0, at: 600, used: nobody, queued: 0 }])
  expect(idle.makespan).toBeCloseTo(0.6)
  expect(idle.critical).toBeCloseTo(0.03)
  // Busy throughout: three waits for a look, three for a poll, and one for a look at the run.
  const busy = pathOf(chainOf(night), [{ from: 0, at: 600, used: { ...nobody, ours: 0.6 }, queued: 0 }])
  const waited = 3 * 0.006 + 3 * 0.02 + 0.01
  expect(busy.critical).toBeCloseTo(0.6 - waited)
})

it('what is waited is told apart by whether processors were free meanwhile', () => {
  const waited = 3 * 0.006 + 3 * 0.02 + 0.01
  const withUse = (used: number) =>
    pathOf(chainOf(night), [{ from: 0, at: 600, used: { ...nobody, ours: used }, queued: 0 }], 2)
  expect(withUse(1.2)).toMatchObject({ waited: expect.closeTo(waited), waitedFree: expect.closeTo(0) })
  expect(withUse(0.6)).toMatchObject({ waited: expect.closeTo(waited), waitedFree: expect.closeTo(waited / 2) })
})
