import { z } from 'zod'
import { document, uuid } from './document.ts'

/** What the pages of several searches say of the custom properties that the request asked for. */
export function customFields(names: { customProperties: string; fields: string; id: string; name: string }): {
  customProperties: z.ZodType
  fields: z.ZodType
} {
  const property = document(names, { id: uuid, name: z.string().min(1) })
  return {
    customProperties: z.array(property).optional().meta({
      description: 'Those asked for that the profile owns, the same on every page. Absent when none were asked for.',
    }),
    fields: z
      .record(uuid, z.array(z.string()).min(1))
      .optional()
      .meta({ minProperties: 1, description: 'Values by custom property id. Absent when none apply.' }),
  }
}
