/** A request that the service answers with an error instead of queueing it. `code` is the errorCode on the wire. */
export class RequestRefused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'RequestRefused'
    this.status = status
    this.code = code
  }
}
