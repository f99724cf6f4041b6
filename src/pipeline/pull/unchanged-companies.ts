import type { UnchangedCompany } from '../../db/pull/known-companies.ts'

/** Companies of a page whose bytes are those of the last time: nothing of theirs is read or written. */
export class UnchangedCompanies {
  readonly counts = { companies: 0, calculators: 0, values: 0 }
  /** By the names that were listed where they were last read: those names must be listed still. */
  readonly byListing = new Map<number, number[]>()

  add({ company_key, listing_key, calculators, values }: UnchangedCompany): void {
    const keys = this.byListing.get(listing_key)
    if (keys === undefined) this.byListing.set(listing_key, [company_key])
    else keys.push(company_key)
    this.counts.companies++
    this.counts.calculators += calculators
    this.counts.values += values
  }
}
