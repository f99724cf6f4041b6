import { z } from 'zod'
import { settings } from './schema.ts'
import type { JsonSchema } from './setting-paths.ts'

/** The JSON Schema of the configuration file, made of the settings: what config/nightferry.schema.json has to say. */
export function configJsonSchema(): JsonSchema {
  return z.toJSONSchema(settings, { io: 'input', target: 'draft-2020-12' }) as JsonSchema
}
