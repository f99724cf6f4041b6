import { hash } from 'node:crypto'
import type { Contract } from '../../../exchange/contract.ts'

/** Raised by a change of the code that reads other rows from the same bytes: every company is then read again. */
const readingVersion = 2

/** The hash of one company's bytes, in the form of a UUID: the 16 bytes that a database holds without a length. */
export type ContentHash = (bytes: Uint8Array) => string

/** What a company was read from. */
export type Content = { hash: string; bytes: number }

/**
 * A hash under which the same bytes mean the same rows: it differs where the names of the contract do, or the types
 * that the search selects. SHA-256, cut to 128 bits: who could make two companies of one hash would own the service's
 * pages.
 */
export function createContentHash(contract: Contract, calculatorTypeIds: readonly string[]): ContentHash {
  const meaning = JSON.stringify([readingVersion, contract.names.calculatorsPage, calculatorTypeIds.toSorted()])
  const salt = hash('sha256', meaning, 'buffer')
  return (bytes) => {
    const digest = hash('sha256', bytes, 'buffer')
    for (let at = 0; at < 16; at++) digest[at] = (digest[at] ?? 0) ^ (salt[at] ?? 0)
    const hex = digest.toString('hex', 0, 16)
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }
}
