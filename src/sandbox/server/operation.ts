import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { ApiKey } from '../catalogue/accounts.ts'
import { RequestRefused } from '../request-refused.ts'
import { checkBody } from '../requests/check-body.ts'
import { parseBody } from '../requests/read-json.ts'

/** What an operation is told of the request it handles. `bytes` is the body as it came, empty where there is none. */
type Call<Body> = {
  apiKey: ApiKey
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  body: Body
  bytes: Buffer
  request: FastifyRequest
  reply: FastifyReply
}

/** One answer of an operation, as the description shows it. Without a schema: an error as everywhere, or no body. */
type Answer = { description: string; schema?: z.ZodType }

/**
 * One endpoint: what the server registers and what the OpenAPI description says come from this alone. The body's schema
 * validates the request, gives it to `handle` in our own names, and is published in its input form.
 */
type OperationOf<Body> = {
  /** The operationId of the description: unique, camel case. */
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `{placeholders}`, as in the contract. */
  path: string
  tag: string
  summary: string
  description?: string
  deprecated?: boolean
  body?: z.ZodType<Body>
  /** Parameters of the query, by name; for the description only. */
  query?: Readonly<Record<string, z.ZodType>>
  /** The document behind the addresses that a finished task gives. */
  resultFile?: z.ZodType
  /**
   * By HTTP status. What every operation may answer (400, 413 and 415 with a body, 401, 500) is added by the
   * description.
   */
  answers: Readonly<Record<number, Answer>>
  handle: (call: Call<Body>) => unknown
}

/** An operation whose body's type is its own matter. */
export type Operation = Omit<OperationOf<unknown>, 'body' | 'handle'> & {
  body?: z.ZodType
  handle: (call: Omit<Call<unknown>, 'body'>) => unknown
}

/** Closes an operation over its body: what `handle` gets has passed the schema. */
export function operation<Body = undefined>(described: OperationOf<Body>): Operation {
  const { body: schema, handle, ...rest } = described
  if (schema === undefined) return { ...rest, handle: (call) => handle({ ...call, body: undefined as Body }) }
  return { ...rest, body: schema, handle: (call) => handle({ ...call, body: readBody(schema, call.bytes) }) }
}

/** @throws {RequestRefused} 400 when the bytes are no JSON, or have another shape than the schema's. */
function readBody<Body>(schema: z.ZodType<Body>, bytes: Buffer): Body {
  if (bytes.length === 0) throw new RequestRefused(400, 'body_malformed', 'The request has no body.')
  return checkBody(schema, parseBody(bytes))
}
