import type { CopyValue } from '../../db/copy-text.ts'
import { catalogue } from '../../sandbox/catalogue.ts'
import { draw, drawInteger, drawSome } from './draw.ts'
import { roomsAt, type World } from './world.ts'

/**
 * What one room uses in an average month, in the unit of the field type, and how much more of it in winter than then.
 */
type Use = { least: number; most: number; winter: number; decimals: number }

const uses: Record<string, Use> = {
  Electricity: { least: 250, most: 600, winter: 0.1, decimals: 1 },
  'Occupied room nights': { least: 13, most: 23, winter: -0.15, decimals: 0 },
  'Mains water': { least: 4, most: 12, winter: -0.2, decimals: 2 },
  'Residual waste': { least: 15, most: 45, winter: -0.1, decimals: 1 },
  'District heating': { least: 120, most: 420, winter: 0.6, decimals: 1 },
  'Natural gas': { least: 90, most: 380, winter: 0.6, decimals: 1 },
  Diesel: { least: 1, most: 6, winter: 0, decimals: 0 },
  'Rainwater reused': { least: 0.2, most: 1.5, winter: -0.3, decimals: 2 },
  'Recycled waste': { least: 8, most: 30, winter: -0.1, decimals: 1 },
}

/** Every hotel reads these meters; the others it has or has not. */
const everywhere = ['Electricity', 'Occupied room nights', 'Mains water', 'Residual waste']
const elsewhere = Object.keys(uses).filter((name) => !everywhere.includes(name))

/**
 * Square metres per room. Surveyed once a year: twelve monthly values would be summed to a yearly one by the service.
 */
const floorArea = { least: 25, most: 60 }

const meterIds = new Map(catalogue.fieldTypes.map(({ name }, index) => [name, index + 1]))

/** The meter's id in the partner database, by the name of its field type. */
export function meterIdOf(fieldType: string): number {
  const id = meterIds.get(fieldType)
  if (id === undefined) throw new RangeError(`The catalogue of the sandbox has no field type called ${fieldType}`)
  return id
}

export function meterRows(world: World): CopyValue[][] {
  return catalogue.fieldTypes.map(({ id, name }) => [meterIdOf(name), name, id, world.stamp('meter', meterIdOf(name))])
}

/**
 * One hotel's readings: four to six meters in each month of the last full year, and the year before that as a whole.
 */
export function readingRows(world: World, hotel: number): CopyValue[][] {
  const { seed, lastFullYear } = world
  const extra = drawSome(elsewhere, drawInteger(0, 2, seed, 'meters', hotel), seed, 'meter chosen', hotel)
  const rows: CopyValue[][] = []
  for (let month = 1; month <= 12; month++) {
    const stamp = world.stamp('reading', hotel, month)
    for (const name of [...everywhere, ...extra]) {
      rows.push([hotel, meterIdOf(name), lastFullYear, month, monthly(seed, hotel, name, month), stamp])
    }
  }
  const stamp = world.stamp('reading', hotel, 0)
  for (const name of [...everywhere, ...extra]) {
    let sum = 0
    for (let month = 1; month <= 12; month++) sum += monthly(seed, hotel, name, month)
    const before = sum * (0.9 + 0.2 * draw(seed, 'year before', hotel, meterIdOf(name)))
    rows.push([hotel, meterIdOf(name), lastFullYear - 1, null, Math.round(before), stamp])
  }
  const perRoom = floorArea.least + (floorArea.most - floorArea.least) * draw(seed, 'floor area', hotel)
  rows.push([hotel, meterIdOf('Floor area'), lastFullYear - 1, null, Math.round(roomsAt(seed, hotel) * perRoom), stamp])
  return rows
}

function monthly(seed: number, hotel: number, name: string, month: number): number {
  const use = uses[name]
  if (use === undefined) throw new RangeError(`Nothing says how much of ${name} a hotel uses`)
  const meter = meterIdOf(name)
  const perRoom = use.least + (use.most - use.least) * draw(seed, 'use', hotel, meter)
  const season = 1 + use.winter * Math.cos((2 * Math.PI * (month - 1)) / 12)
  const chance = 0.92 + 0.16 * draw(seed, 'month', hotel, meter, month)
  return Number((roomsAt(seed, hotel) * perRoom * season * chance).toFixed(use.decimals))
}
