/** The partner database is not as the demo needs it; what to do is to make it again. */
export class PartnerDatabaseError extends Error {
  readonly code: 'partner_database_exists' | 'partner_database_unexpected'

  constructor(code: PartnerDatabaseError['code'], message: string) {
    super(message)
    this.name = 'PartnerDatabaseError'
    this.code = code
  }
}
