/** A night cannot be rehearsed as things are; nothing was changed. `code` is stable. */
export class RehearsalRefused extends Error {
  readonly code: 'rehearsal_no_room' | 'rehearsal_under_way' | 'rehearsal_database_in_use' | 'run_under_way'

  constructor(code: RehearsalRefused['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
