import type { Problem } from './api-types.ts'

/** An answer that is none: what the daemon said, or that it said nothing. */
export class CallFailed extends Error {
  readonly status: number
  readonly code: string
  /** @param status 0: nobody answered; 202: the answer is still being computed. */
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** How long an answer may take before the page says that nobody answers. Milliseconds. */
const patienceMs = 60_000

type Query = Record<string, string | number | undefined>

export async function get<T>(path: string, query: Query = {}): Promise<T> {
  return await call<T>('GET', `${path}${queryOf(query)}`)
}

export async function post<T>(path: string, body: object = {}): Promise<T> {
  return await call<T>('POST', path, body)
}

export async function remove<T>(path: string): Promise<T> {
  return await call<T>('DELETE', path)
}

function queryOf(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  // The header is what no page of another origin can send.
  const headers = { 'x-nightferry-console': '1', ...(body !== undefined && { 'content-type': 'application/json' }) }
  let answer: Response
  try {
    answer = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      cache: 'no-store',
      signal: AbortSignal.timeout(patienceMs),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  } catch {
    const words = navigator.onLine ? 'Nightferry does not answer.' : 'This computer is offline.'
    throw new CallFailed(0, 'no_answer', words)
  }
  if (method === 'GET' && answer.status === 202) throw new CallFailed(202, 'computing', 'The answer is being computed.')
  if (answer.ok) return (await answer.json()) as T
  const problem = (await answer.json().catch(() => ({}))) as Partial<Problem>
  throw new CallFailed(
    answer.status,
    problem.code ?? 'no_problem',
    problem.detail ?? `The answer was ${answer.status}.`,
  )
}
