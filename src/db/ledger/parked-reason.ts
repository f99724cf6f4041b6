/**
 * Where what a parked row waits for stands; `missing`: the partner never had such a row; `gone`: has it no longer;
 * `key`: it waits for no row, but for the service to accept the API key.
 */
export type RequirementState =
  | 'missing'
  | 'gone'
  | 'held'
  | 'in_flight'
  | 'invalid'
  | 'rejected'
  | 'unknown'
  | 'pending'
  | 'key'

/** What a parked row waits for. */
export type WaitsFor = {
  /** The stream that is required; `key` where it is none. */
  required: string
  requirement_state: RequirementState
  requirement_code: string | null
  requirement_reason: string | null
  requirement_held_by: number | null
  /** The run whose guard holds it. */
  requirement_guard_run: number | null
  /** Since when the service does not accept the key, as JSON has it. */
  requirement_since: string | null
}

/** Since when the service does not accept the key, its words, and what to do, as one clause. Pure. */
export function keyDeniedWords(since: Date, said: readonly (string | null)[]): string {
  const words = said.filter((part) => part !== null).join(': ')
  const at = since.toISOString().slice(0, 16).replace('T', ' ')
  return `the service does not accept the API key (401${words === '' ? '' : ` ${words}`}) since ${at} UTC: set EXCHANGE_API_KEY`
}

/** Why a row is parked, and what would release it, in words. Pure. */
export function parkedReason(waits: WaitsFor, partnerId: string): string {
  const { required, requirement_state: state, requirement_code: code, requirement_reason: reason } = waits
  const said = [code, reason].filter((part) => part !== null).join(': ')
  switch (state) {
    case 'missing':
      return `it requires ${required} of ${partnerId}, and the partner's database has delivered none`
    case 'gone':
      return `its ${required} row is gone at the partner and was never accepted; it is released when that is there again`
    case 'held':
      return `its ${required} row is held by the guard (run ${waits.requirement_guard_run}): nightferry approve ${waits.requirement_guard_run} lets it through`
    case 'in_flight':
      return `its ${required} row is in submission ${waits.requirement_held_by}; it is released when that is accepted`
    case 'invalid':
      return `its ${required} row is invalid (${said}): fix that one`
    case 'rejected':
      return `its ${required} row was rejected by the service (${said}): fix that one, or retry it`
    case 'unknown':
      return `nobody knows what became of its ${required} row (${said}); the next run sends that one again`
    case 'key':
      return keyDeniedWords(new Date(waits.requirement_since ?? 0), [code, reason])
    case 'pending':
      return `its ${required} row is pending; the next run sends that one first`
    default:
      return state satisfies never
  }
}
