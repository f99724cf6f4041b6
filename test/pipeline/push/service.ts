import type { ServerResponse } from 'node:http'
import { type HttpServer, httpServer, sendJson } from '../../exchange/fault-server.ts'

export type Answer = (response: ServerResponse) => unknown

/** Closes the connection instead of answering. */
export const reset: Answer = (response) => response.socket?.destroy()

export const json =
  (value: unknown, status = 200): Answer =>
  (response) =>
    sendJson(response, value, status)

export const refusal = (status: number, errorCode = 'some_code', message = 'Some words.'): Answer =>
  json({ errorCode, message }, status)

export type ScriptedService = HttpServer & { count(path: string): number }

/** A service that answers each path by turns with what the test lays down; the last answer stays. */
export async function service(script: Record<string, Answer[]>): Promise<ScriptedService> {
  const server = await httpServer((request, response) => {
    const answers = script[request.path] ?? []
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    if (answer === undefined) sendJson(response, { errorCode: 'not_scripted', message: request.path }, 404)
    else answer(response)
  })
  return { ...server, count: (path) => server.seen.filter((request) => request.path === path).length }
}
