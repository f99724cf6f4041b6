import type { Problem } from './api-types.ts'
import { learnClock } from './clock.ts'
import { parseExact } from './exact.ts'

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

/** The same of an answer whose numbers are shown with every digit, by `exactText`. */
export async function getExact<T>(path: string): Promise<T> {
  return parseExact<T>(await (await answerOf('GET', path)).text())
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
  return (await (await answerOf(method, path, body)).json()) as T
}

/** @throws {CallFailed} where there is no answer yet, or none that is one. */
async function answerOf(method: string, path: string, body?: object): Promise<Response> {
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
  learnClock(answer.headers.get('date'))
  if (method === 'GET' && answer.status === 202) throw new CallFailed(202, 'computing', 'The answer is being computed.')
  if (answer.ok) return answer
  if (answer.status === 401) window.dispatchEvent(new Event('nightferry-signed-out'))
  const problem = (await answer.json().catch(() => ({}))) as Partial<Problem>
  throw new CallFailed(
    answer.status,
    problem.code ?? 'no_problem',
    problem.detail ?? `The answer was ${answer.status}.`,
  )
}
