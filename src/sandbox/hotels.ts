import { createHash } from 'node:crypto'
import { type Place, places } from './places.ts'
import { uuidFrom } from './uuid-from.ts'

/** A hotel as the public knows it, and the id under which its partner keeps it. */
export type Hotel = {
  number: number
  /** `H-0001`: at least four digits. */
  partnerId: string
  name: string
  street: string
  latitude: number
  longitude: number
  countryCode: string
  airportCode: string
  /** A hotel-industry code. Some hotels have none; every hotel has this or `bookingId`, unique within a seed. */
  hotelCode: string | null
  bookingId: string | null
}

/** Every 50th hotel is missing at the service on purpose, so that some mappings end NotFound. */
export function isKnownToService(number: number): boolean {
  return number % 50 !== 0
}

/** The service's id of the hotel's company, known or not. */
export function companyIdAt(seed: number, number: number): string {
  return uuidFrom(`company ${seed} ${number}`)
}

/**
 * The hotel with this number (1, 2, …) in the world of this seed. Pure: the same arguments give the same hotel in every
 * process. Names and streets come in many scripts, some with quotes, backslashes, tabs, emoji and apostrophes.
 */
export function hotelAt(seed: number, number: number): Hotel {
  const random = createHash('sha256').update(`hotel ${seed} ${number}`).digest()
  const at = (offset: number) => random.readUInt32BE(offset)
  const place = pick(places, at(0))
  const onlyBooking = number % 7 === 3
  const onlyHotelCode = number % 5 === 2 && !onlyBooking
  return {
    number,
    partnerId: `H-${String(number).padStart(4, '0')}`,
    name: nameIn(place, number, at(4), at(8)),
    street: `${pick(place.streets, at(12))} ${1 + (at(16) % 240)}`,
    latitude: scattered(place.latitude, at(20)),
    longitude: scattered(place.longitude, at(24)),
    countryCode: place.countryCode,
    airportCode: place.airportCode,
    hotelCode: onlyBooking ? null : `NF${codeOf(seed, number)}`,
    bookingId: onlyHotelCode ? null : String(10_000_000 + number * 7 + (Math.abs(seed) % 7)),
  }
}

function nameIn(place: Place, number: number, first: number, second: number): string {
  const plain = `${pick(place.names, first)} ${pick(place.cities, second)}`
  switch (number % 23) {
    case 4:
      return `${plain} "Grand" ${number}`
    case 9:
      return `${plain} \\ Annex ${number}`
    case 13:
      return `${plain}\tWing ${number}`
    case 17:
      return `${plain} 🏨🌿 ${number}`
    case 21:
      return `${plain} O'Hara's ${number}`
    default:
      return `${plain} ${number}`
  }
}

/** Within some 10 km of the place, five decimals (about one metre). */
function scattered(degrees: number, random: number): number {
  return Math.round((degrees + (random / 0xffffffff - 0.5) * 0.18) * 1e5) / 1e5
}

function codeOf(seed: number, number: number): string {
  return `${(Math.abs(seed) % 1296).toString(36).padStart(2, '0')}${number.toString(36).padStart(5, '0')}`.toUpperCase()
}

function pick<T>(values: readonly [T, ...T[]], random: number): T {
  return values[random % values.length] ?? values[0]
}
