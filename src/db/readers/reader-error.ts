/** Why reading was not granted or revoked, or a query not asked: nothing was changed. */
type ReaderErrorCode =
  /** There is no such role in the server. */
  | 'role_unknown'
  /** The role is the one that owns the views, or may do everything: nothing can be given to it, nor taken away. */
  | 'role_not_limited'
  /** Our own role may not give privileges on the views. */
  | 'grant_refused'
  /** A query could do more than read the tables, and no role can be had that could not. */
  | 'query_not_limited'

/** A role cannot be let read, or kept from it, as things stand. The message says why, and what to do. */
export class ReaderError extends Error {
  readonly code: ReaderErrorCode

  constructor(code: ReaderErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
