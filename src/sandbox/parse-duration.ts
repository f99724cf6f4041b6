import { type BulkRequest, bulkRequests } from '../exchange/contract.ts'
import type { Processing } from './durations.ts'

/** The text names no duration of a bulk request; the message says what one looks like. */
class DurationInvalid extends Error {
  readonly code = 'duration_invalid'
}

const microseconds: Record<string, number> = { us: 1, ms: 1000, s: 1_000_000 }
const amount = String.raw`(\d+(?:\.\d+)?)(us|ms|s)`
const pattern = new RegExp(String.raw`^(\w+)=${amount}(?:\+${amount})?$`)

/**
 * Reads how long the processing of a bulk request takes: `calculatorsSearch=500ms+20us` is half a second and 20
 * microseconds for each company; without the second part, items take no time of their own.
 * @throws {DurationInvalid}
 */
export function parseDuration(text: string): { request: BulkRequest; processing: Processing } {
  const [matched, name, base, baseUnit, perItem = '0', perItemUnit = 'us'] = pattern.exec(text) ?? []
  if (matched === undefined) {
    throw new DurationInvalid(`"${text}" is no duration; one looks like calculatorsSearch=500ms+20us.`)
  }
  const request = bulkRequests.find((known) => known === name)
  if (request === undefined) {
    throw new DurationInvalid(`There is no request "${name}". There are ${bulkRequests.join(', ')}.`)
  }
  return {
    request,
    processing: { baseMs: inMicroseconds(base, baseUnit) / 1000, perItemUs: inMicroseconds(perItem, perItemUnit) },
  }
}

function inMicroseconds(number = '0', unit = 'us'): number {
  return Number(number) * (microseconds[unit] ?? 1)
}
