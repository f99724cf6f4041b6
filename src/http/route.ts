import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { Actor } from '../db/actions/record-action.ts'
import type { Database } from '../db/database.ts'
import type { Deps } from '../pipeline/deps.ts'
import type { Access } from './may-enter.ts'
import type { Metrics } from './metrics/metrics.ts'
import { Problem } from './problem.ts'

/** What a check of the doctor found, as `nightferry doctor --json` shows it. */
type ShownFinding = {
  id: string
  group: string
  subject: string | null
  level: string
  what: string
  why: string | null
  todo: string | null
  made: boolean
}

type ShownSetting = { path: string; value: string; from: string; where: string | null }

/** What every route works with. */
export type HttpContext = {
  deps: Deps
  /** Connections of the API's own, so that it never takes those of the workers; statements there have a time limit. */
  db: Database
  metrics: Metrics
  /** What only the command line can look at: the doctor's checks, and where each setting comes from. */
  asks: {
    diagnose: () => Promise<readonly ShownFinding[]>
    settings: () => readonly ShownSetting[]
  }
  /** Replaces secrets in a text, should one ever have got into what is answered. */
  conceal: (text: string) => string
  /** Aborts when the daemon is told to end. */
  stopping: AbortSignal
}

type Call<Params, Query, Body> = {
  params: Params
  query: Query
  body: Body
  actor: Actor
}

/** An answer that is written already: a text of its own type, or events that follow one another. */
export class Plain {
  readonly type: string
  readonly content: string | AsyncIterable<string>
  constructor(type: string, content: string | AsyncIterable<string>) {
    this.type = type
    this.content = content
  }
}

/** A file, byte for byte: nothing in it is replaced. */
export class FileAnswer {
  readonly headers: Readonly<Record<string, string | number>>
  readonly content: Readable

  constructor(about: { name: string; type: string; bytes: number }, content: Readable) {
    this.headers = {
      'content-type': about.type,
      'content-length': about.bytes,
      'content-disposition': `attachment; filename="${about.name}"`,
    }
    this.content = content
  }
}

/** An answer with a status other than 200. */
export class Answer {
  readonly status: number
  readonly content: unknown
  constructor(status: number, content: unknown) {
    this.status = status
    this.content = content
  }
}

type RouteOf<Params, Query, Body> = {
  /** The operationId of the description: unique, camel case. */
  id: string
  method: 'GET' | 'POST'
  /** With `{placeholders}`. */
  path: string
  summary: string
  access: Access
  params?: z.ZodType<Params>
  query?: z.ZodType<Query>
  body?: z.ZodType<Body>
  /** By HTTP status; a text is the media type of an answer that is no JSON. */
  answers: Readonly<Record<number, z.ZodType | string>>
  handle: (context: HttpContext, call: Call<Params, Query, Body>) => unknown
}

/** A route whose parameters are its own matter. What `handle` is given has passed its schemas. */
export type Route = Omit<RouteOf<unknown, unknown, unknown>, 'handle'> & {
  handle: (context: HttpContext, call: Call<never, never, never>) => unknown
}

/** One endpoint: what the server registers and what the description says come from this alone. */
export function route<Params = undefined, Query = undefined, Body = undefined>(
  described: RouteOf<Params, Query, Body>,
): Route {
  return described as Route
}

/** A moment, in ISO 8601. */
export const moment = z.iso.datetime()

/** A whole number in an answer. */
export const count = z.number().int()

/** A whole number in a path or a query. */
export const wholeNumber = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER)

/** How many of a list. */
export const limit = z.coerce.number().int().min(1).max(1_000).default(100).describe('How many at most.')

/** Which destination a run was for. */
export const destinationName = z
  .string()
  .nullable()
  .describe('The name of the destination that the run was for; null: the one in use.')

/** Whether a list was cut. */
export const more = z.boolean().describe('There are more than `limit`.')

/** What a row, a report or a document holds is said by docs/tables.md, and may grow. */
export const document = z.looseObject({})

/**
 * As many of a list as were asked for, and whether there are more: it was read with one beyond the limit. Pure.
 */
export function cutAt<T>(rows: readonly T[], limit: number): { rows: T[]; more: boolean } {
  return { rows: rows.slice(0, limit), more: rows.length > limit }
}

/**
 * Where the page before ended, as its cursor says it; null without one.
 * @throws {Problem} 400 when it is no cursor of ours.
 */
export function placeOf<Place>(place: z.ZodType<Place>, cursor: string | undefined): Place | null {
  if (cursor === undefined) return null
  try {
    return place.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')))
  } catch {
    throw new Problem(400, 'request_malformed', 'The cursor is none that was given here; begin without one.')
  }
}
