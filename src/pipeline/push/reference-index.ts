import type { Database } from '../../db/database.ts'
import type { FrameworkDataPoint, FrameworkIndex } from '../../exchange/reference-data.ts'

/** The cached reference data, as rows are checked and written against it. */
export type ReferenceIndex = {
  /** False while no framework is cached: then nothing can be said about data points. */
  frameworksKnown: boolean
  dataPoints: ReadonlyMap<string, FrameworkDataPoint>
  questionIds: ReadonlySet<string>
}

/** Reads the frameworks that the last fetch of reference data stored. */
export async function loadReferenceIndex(db: Database): Promise<ReferenceIndex> {
  const rows = await db.selectFrom('reference_data').select('document').where('kind', '=', 'framework').execute()
  const frameworks = rows.map(({ document }) => document as FrameworkIndex)
  return {
    frameworksKnown: frameworks.length > 0,
    dataPoints: new Map(frameworks.flatMap(({ dataPoints }) => dataPoints.map((point) => [point.id, point]))),
    questionIds: new Set(frameworks.flatMap(({ questionIds }) => questionIds)),
  }
}
