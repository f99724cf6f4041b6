import { type PassingCall, serviceProxy } from './service-proxy.ts'

/** An answer of the service on its way to us. */
export type Passing = { status: number; json: unknown; headers: Record<string, string> }

/** A call of ours, with its body as text. */
type Seen = Omit<PassingCall, 'body'> & { body: string }

export type AlteringProxy = AsyncDisposable & {
  url: string
  seen: Seen[]
  /** How many requests there were of a method whose path ends so. */
  count(method: string, ending: string): number
}

/** A proxy of which each answer is passed on as `alter` leaves it; null: the answer is lost. */
export async function alteringProxy(
  target: string,
  alter: (request: Seen, answer: Passing) => Passing | null,
): Promise<AlteringProxy> {
  const seen: Seen[] = []
  const proxy = await serviceProxy(target, async (call, forward) => {
    const request = { ...call, body: call.body.toString() }
    seen.push(request)
    const answer = await forward()
    const text = await answer.text()
    const date = answer.headers.get('date')
    const passed = alter(request, {
      status: answer.status,
      json: text === '' ? null : JSON.parse(text),
      headers: date === null ? {} : { date },
    })
    if (passed === null) return null
    const body = passed.json === null ? null : JSON.stringify(passed.json)
    const headers = { 'content-type': 'application/json', ...passed.headers }
    return new Response(body, { status: passed.status, headers })
  })
  return {
    ...proxy,
    seen,
    count: (method, ending) => seen.filter((one) => one.method === method && one.path.endsWith(ending)).length,
  }
}
