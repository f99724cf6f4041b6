import { writeFileSync } from 'node:fs'
import { configJsonSchema } from './setting-paths.ts'

/**
 * Writes the JSON Schema that editors use for the configuration file: `npm run generate`, after src/config/schema.ts
 * changed.
 */
writeFileSync(
  new URL('../../config/nightferry.schema.json', import.meta.url),
  `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
)
