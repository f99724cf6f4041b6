import { type DrawKeys, draw, drawInteger } from './draw.ts'

/** When a row was last touched, as text that Postgres reads as timestamptz. */
type Stamp = (...keys: DrawKeys) => string

/** What every row of the partner database depends on. */
export type World = {
  seed: number
  /** The last calendar year that was over on the day the database is seen: readings and answers are about it. */
  lastFullYear: number
  stamp: Stamp
}

const hourMs = 3_600_000
const spreadMs = 30 * 24 * hourMs

/** The world of the first night: its rows were touched in the thirty days that end an hour before `asOf`. */
export function worldBefore(asOf: Date, seed: number): World {
  const newest = asOf.getTime() - hourMs
  const stamp: Stamp = (...keys) => {
    const microseconds = Math.floor(draw(seed, ...keys) * spreadMs * 1000)
    const whole = new Date(newest - Math.ceil(microseconds / 1000)).toISOString().slice(0, -1)
    return `${whole}${String((1000 - (microseconds % 1000)) % 1000).padStart(3, '0')}Z`
  }
  return { seed, lastFullYear: asOf.getUTCFullYear() - 1, stamp }
}

/** The world of an import that happened at one moment: all its rows carry that moment, as one transaction's rows do. */
export function worldAt(moment: Date, seed: number): World {
  const stamp = moment.toISOString()
  return { seed, lastFullYear: moment.getUTCFullYear() - 1, stamp: () => stamp }
}

/** Rooms of a hotel: what it uses and whom it employs grows with them. */
export function roomsAt(seed: number, hotel: number): number {
  return drawInteger(18, 420, seed, 'rooms', hotel)
}
