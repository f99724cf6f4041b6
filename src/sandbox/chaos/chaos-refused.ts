/** Trouble was asked for that does not exist, or on a share of occasions that is none. The message lists the names. */
export class ChaosRefused extends Error {
  readonly code = 'chaos_invalid'

  constructor(message: string) {
    super(message)
    this.name = 'ChaosRefused'
  }
}
