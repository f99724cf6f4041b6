import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { parse } from 'yaml'
import { z } from 'zod'

const stream = z.strictObject({ query: z.string(), cursor: z.string(), requires: z.array(z.string()) })
const demoFile = new URL('../../config/demo.yaml', import.meta.url)

/** The streams of the demo's configuration, by name. */
export const demoStreams = z
  .looseObject({ streams: z.record(z.string(), stream) })
  .parse(parse(readFileSync(demoFile, 'utf8'))).streams

export type Row = Record<string, unknown>

/** The rows of one stream as JSON has them, so that no driver changes a number, a date or a microsecond. */
export async function readStream(pool: pg.Pool, name: string): Promise<Row[]> {
  const found = demoStreams[name]
  if (found === undefined) throw new RangeError(`config/demo.yaml has no stream ${name}`)
  const { rows } = await pool.query<{ row: Row }>(`select to_jsonb(s) as row from (${found.query}) s`)
  return rows.map(({ row }) => row)
}

/** Every row of every stream as text, sorted: two databases with the same rows give the same list. */
export async function readEverything(pool: pg.Pool): Promise<string[]> {
  const lines: string[] = []
  for (const name of Object.keys(demoStreams)) {
    for (const row of await readStream(pool, name)) lines.push(`${name} ${JSON.stringify(row)}`)
  }
  return lines.sort()
}
