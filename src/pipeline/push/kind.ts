import type { Config } from '../../config/schema.ts'
import type { BodyWriter } from './bodies/body.ts'
import type { ResultFile } from './outcomes/result-outcome.ts'

/** A kind of bulk request that carries rows: ours are in kinds.ts, the contract file may add others. */
export type Kind = {
  /** Streams whose rows travel in requests of this kind. */
  streams: readonly string[]
  /** A content column that requests are kept apart by. */
  partitionBy: string | null
  /** Rows of a request at most. */
  maxRows: (push: Config['push']) => number
  /** Rows of a request as long as nothing better is known; absent: as many as there may be. */
  firstRows?: number
  writeBody: BodyWriter
  /**
   * Where the outcome of each row is read: a file that names every company, or the rows that the task's error names.
   */
  outcomes: ResultFile | 'error_rows'
}
