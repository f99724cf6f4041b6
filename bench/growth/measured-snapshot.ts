import { settings } from '../../src/config/schema.ts'
import type { Run } from '../../src/db/tables/run-tables.ts'
import type { PartnerSnapshot } from '../../src/partner/dialect.ts'
import { extractSnapshot } from '../../src/pipeline/delta/extract-snapshot.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import type { Judge } from '../../src/pipeline/preflight/preflight.ts'
import { ourShape } from '../../src/pipeline/streams/our-streams.ts'

/** Judged on their way, as extraction does it; all are right. */
const judge: Judge = { basis: 1, of: () => () => null }

const fields = [0, 1].map((at) => `00000000-0000-4000-8000-00000000000${at}`)

/** Lines of each stream, as the partner's query yields them: of the first night, or with some changed and some gone. */
const streams = {
  custom_property_values: (rows: number, changed: boolean) =>
    Array.from({ length: rows }, (_, row) => [hotel(row), fields[0], changed && row % 10 === 0 ? 'new' : 'old']).filter(
      (_, row) => !changed || row % 10 !== 1,
    ),
  // Two lines make one row of the ledger.
  calculator_inputs: (rows: number, changed: boolean) =>
    Array.from({ length: rows }, (_, row) => [
      ...[hotel(row >> 1), '2025', '1', fields[row % 2]],
      changed && row % 4 === 1 ? 'new' : 'old',
    ]).filter((_, row) => !changed || row % 10 > 1),
}

const hotel = (number: number) => `S-${String(number).padStart(7, '0')}`

/** Streams that the ledger has nothing of, read by snapshot three times: the first, a changed and an unchanged one. */
export async function snapshotThrice(deps: Deps, run: Run, rows: number): Promise<void> {
  const config = settings.parse({ guard: { minRows: 1_000_000_000 } })
  const logger = { info: () => {}, warn: () => {}, debug: () => {} } as unknown as Deps['logger']
  for (const [name, linesOf] of Object.entries(streams)) {
    const shape = ourShape(name as keyof typeof streams)
    const query = { stream: name, query: '', columns: shape.columns, fetchRows: 5_000 }
    for (const changed of [false, true, true]) {
      await deps.db.deleteFrom('run_stream').where('stream', '=', name).execute()
      const lines = linesOf(rows, changed)
      const snapshot = { server: null, lines: () => bytesOf(lines) } as unknown as PartnerSnapshot
      await extractSnapshot(
        { ...deps, config, logger },
        run,
        snapshot,
        { name, shape, query, queryDigest: name, lookups: {} },
        judge,
      )
    }
  }
}

async function* bytesOf(lines: readonly (readonly (string | undefined)[])[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(`${line.join('\t')}\n`)
}
