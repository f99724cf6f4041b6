import { isOurStream, streamNames } from '../../config/schema.ts'
import type { CursorProtection } from '../../db/tables/run-tables.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { GenericKind } from '../../exchange/generic-kinds.ts'
import type { StreamQuery } from '../../partner/dialect.ts'
import { ourShape } from './our-streams.ts'
import { keyOf, present } from './row-key.ts'
import type { StreamShape } from './stream.ts'

/** Every stream that there can be, ours first, then those of the kinds that the contract adds. */
export function streamNamesOf({ kinds }: Contract): string[] {
  return [...streamNames, ...kinds.map(({ stream }) => stream)]
}

/** How the rows of a stream land in the ledger. The configuration names no stream that has no shape. */
export function shapeOf({ kinds }: Contract, stream: string): StreamShape {
  if (isOurStream(stream)) return ourShape(stream)
  const kind = kinds.find((one) => one.stream === stream)
  if (kind === undefined) throw new Error(`no kind of request carries the stream ${stream}`)
  return addedShape(kind)
}

function addedShape({ columns, partnerId: idColumn, key }: GenericKind): StreamShape {
  return {
    columns,
    idColumn,
    toRow: (row) => {
      const { [idColumn]: id, ...rest } = row
      const partnerId = id ?? ''
      return { partnerId, rowKey: keyOf(partnerId, ...key.map((column) => row[column])), content: present(rest) }
    },
  }
}

/** A stream that is read by its cursor. */
export type CursorStream = {
  name: string
  shape: StreamShape
  query: StreamQuery
  cursor: string
  cursorType: string | null
  protection: CursorProtection | null
  /** How often all rows are read and compared, in milliseconds; null: never. */
  fullEveryMs: number | null
}
