import { settings } from '../../../src/config/schema.ts'
import type { PageLimits } from '../../../src/pipeline/reading/page-limits.ts'

const { maxDepth, maxElementSize } = settings.parse({}).pull

/** The limits that hold where the configuration says nothing. */
export const defaultPageLimits: PageLimits = { maxDepth, maxElementSize, maxQuarantineRows: 1_000 }
