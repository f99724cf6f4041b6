/** A query that the server did not take. The code is PostgreSQL's (SQLSTATE). */
export class QueryFailed extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
