import type { CopyValue } from '../../db/copy-text.ts'
import { catalogue } from '../../sandbox/catalogue.ts'
import { hotelAt } from '../../sandbox/hotels.ts'
import { draw, drawInteger, drawOne, drawSome } from './draw.ts'
import { roomsAt, type World } from './world.ts'

const brands = ['Northern Lights', 'Northern Lights Resorts', 'Polar Inn', 'Étoile du Nord', '北極星ホテル']

const attributes = [
  { id: 1, name: 'Brand', propertyId: catalogue.brandPropertyId },
  { id: 2, name: 'Rooms', propertyId: catalogue.roomsPropertyId },
]

export function attributeRows(world: World): CopyValue[][] {
  return attributes.map(({ id, name, propertyId }) => [id, name, propertyId, world.stamp('attribute', id)])
}

/** The one row of `hotelier.hotel` of a hotel, as the public knows it too. */
export function hotelRows(world: World, hotel: number): CopyValue[][] {
  const known = hotelAt(world.seed, hotel)
  return [
    [
      hotel,
      known.partnerId,
      known.name,
      known.street,
      known.latitude,
      known.longitude,
      known.countryCode,
      known.airportCode,
      known.hotelCode,
      known.bookingId,
      world.stamp('hotel', hotel),
    ],
  ]
}

export function hotelAttributeRows(world: World, hotel: number): CopyValue[][] {
  const values = [drawOne(brands, world.seed, 'brand', hotel), String(roomsAt(world.seed, hotel))]
  return attributes.map(({ id }, index) => [hotel, id, values[index] ?? null, world.stamp('attribute', hotel, id)])
}

export function settingRows({ seed, stamp }: World, hotel: number): CopyValue[][] {
  return [[hotel, draw(seed, 'yearly', hotel) < 0.7, draw(seed, 'publishing', hotel) < 0.4, stamp('setting', hotel)]]
}

/**
 * Rows of `hotelier.certificate` of one hotel: none to two of the standards, at a level where the standard has levels.
 */
export function certificateRows({ seed, stamp, lastFullYear }: World, hotel: number): CopyValue[][] {
  const held = drawSome(catalogue.standards, drawInteger(0, 2, seed, 'certificates', hotel), seed, 'standard', hotel)
  return held.map(({ id, levels }, index) => {
    const start = drawInteger(1, 365, seed, 'certificate start', hotel, index)
    const years = drawInteger(1, 3, seed, 'certificate years', hotel, index)
    return [
      hotel,
      id,
      levels.length === 0 ? null : drawOne(levels, seed, 'level', hotel, index),
      new Date(Date.UTC(lastFullYear, 0, start)).toISOString().slice(0, 10),
      new Date(Date.UTC(lastFullYear + years, 0, start)).toISOString().slice(0, 10),
      stamp('certificate', hotel, index),
    ]
  })
}
