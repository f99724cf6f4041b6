import type { Queryable } from '../running-sandbox.ts'
import { applicationSchema } from './application-schema.ts'
import { publicationSchema } from './publication-schema.ts'
import { serviceSchema } from './service-schema.ts'
import { webhookSchema } from './webhook-schema.ts'

/** Creates what is missing; changes nothing that is there. */
export async function createSchema(db: Queryable): Promise<void> {
  const tables = [serviceSchema, publicationSchema, webhookSchema, applicationSchema]
  await db.query(`create schema if not exists sandbox; ${tables.join('')}`)
}
