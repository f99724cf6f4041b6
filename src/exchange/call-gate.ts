/** What the service said when it did not accept the key. */
type KeySaid = { errorCode: string | null; serviceMessage: string | null }

/** The breaker of a key is open: the service has answered 401, and no call is made but a probe now and then. */
export type KeyDenial = KeySaid & { since: Date }

/**
 * `call`: go ahead. `probe`: go ahead, and say how it ended, for the breaker of the key is open.
 * `refused`: the breaker is open, so the call is not made.
 */
export type Admission = { kind: 'call' } | { kind: 'probe' } | { kind: 'refused'; refusal: KeyDenial }

export type AdmitOptions = {
  /**
   * The call changes nothing and tells whether the key is accepted: it may be the one that is let through an open
   * breaker.
   */
  mayProbe: boolean
  /** Calls that wait behind this one; several turns can be had together then. */
  waiting: () => number
  signal: AbortSignal
}

/**
 * Decides when a call to the service may begin, together with anyone else who uses the same key. Who makes a client
 * says how: this layer knows no database. A client without a gate keeps a pace of its own.
 */
export type CallGate = {
  /** Waits for the call's turn. What it throws means that nothing was sent. */
  admit(options: AdmitOptions): Promise<Admission>
  /** The service answered 429: nobody is to call for so many milliseconds. */
  throttled(pauseMs: number): Promise<void>
  /** The service answered 401: nobody is to call but a probe. */
  refused(said: KeySaid): Promise<void>
  /** A probe succeeded: the key is accepted again. */
  accepted(): Promise<void>
}
