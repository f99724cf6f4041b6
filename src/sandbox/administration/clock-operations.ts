import { z } from 'zod'
import { type AdjustableClock, isAdjustable, maxTimeWarp } from '../clock.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from '../server/operation.ts'

/** Ten years at a time. */
const maxAdvanceMs = 10 * 366 * 86_400_000

const timeWarp = z.number().min(1).max(maxTimeWarp)
const clockAnswer = z.looseObject({
  now: z.iso.datetime(),
  timeWarp: z.number().nullable().meta({ description: 'Null for a clock that stands still between leaps.' }),
})
const clockBody = z
  .strictObject({ now: z.iso.datetime().optional(), timeWarp: timeWarp.optional() })
  .refine(({ now, timeWarp: factor }) => now !== undefined || factor !== undefined, 'holds neither now nor timeWarp')
const advanceBody = z.strictObject({ ms: z.int().min(0).max(maxAdvanceMs) })

/** The sandbox's time. It can run faster and leap ahead, never go back. */
export function clockOperations({ clock }: Pick<Sandbox, 'clock'>): Operation[] {
  const tag = 'Clock'
  const shown = () => ({
    now: new Date(clock.now()).toISOString(),
    timeWarp: isAdjustable(clock) ? clock.timeWarp() : null,
  })
  const adjustable = (): AdjustableClock => {
    if (isAdjustable(clock)) return clock
    throw new RequestRefused(409, 'clock_not_adjustable', 'This sandbox was started with a clock of the caller.')
  }
  const refused = { 409: { description: 'The clock cannot be set so.' } }
  const told = {
    200: { description: 'The time, and how many times as fast as real time it runs.', schema: clockAnswer },
  }
  return [
    operation({
      id: 'readClock',
      method: 'GET',
      path: '/sandbox/clock',
      tag,
      summary: "The sandbox's time",
      answers: told,
      handle: shown,
    }),
    operation({
      id: 'setClock',
      method: 'PUT',
      path: '/sandbox/clock',
      tag,
      summary: 'Leaps ahead to a time, or runs faster or slower from now on',
      body: clockBody,
      answers: { ...told, ...refused },
      handle: ({ body }) => {
        const set = adjustable()
        const ms = body.now === undefined ? 0 : Date.parse(body.now) - set.now()
        if (ms < 0) throw new RequestRefused(409, 'clock_cannot_go_back', `The clock is at ${shown().now} already.`)
        if (body.timeWarp !== undefined) set.setTimeWarp(body.timeWarp)
        if (ms > 0) set.advance(ms)
        return shown()
      },
    }),
    operation({
      id: 'advanceClock',
      method: 'POST',
      path: '/sandbox/clock/advance',
      tag,
      summary: 'Leaps ahead by milliseconds',
      body: advanceBody,
      answers: { ...told, ...refused },
      handle: ({ body }) => {
        adjustable().advance(body.ms)
        return shown()
      },
    }),
  ]
}
