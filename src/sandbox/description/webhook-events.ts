import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { document, oncePer, uuid } from './document.ts'

/** The envelopes of the three kinds of events (specification, Events). */
export const webhookEvents = oncePer((contract: Contract) => {
  const { names, webhookTopics: topics } = contract
  const { applicationStatusChanged, applicationAnswersChanged, test, ...tasks } = topics
  const envelope = (id: string, types: string[], data: z.ZodType) =>
    document(names.webhookEvent, {
      id: uuid.meta({ description: 'Stable across retries: deduplicate by it.' }),
      type: z.enum(types),
      timestamp: z.iso.datetime({ precision: 3 }).meta({ description: 'When the event was recorded.' }),
      data,
    }).meta({ id })
  const { kind: mappingKind } = contract.taskNames.companyMappings
  const bulkData = document(names.bulkEvent, {
    correlationId: uuid.meta({ description: 'Names the task to read.' }),
    taskKind: z.enum([...new Set(Object.values(contract.taskNames).map(({ kind }) => kind))]),
    requestType: z
      .string()
      .min(1)
      .nullable()
      .meta({ description: `null for a ${mappingKind}.` }),
    status: z.enum(Object.values(contract.taskStatuses)),
    profileId: z.int(),
    apiKeyId: uuid.meta({ description: 'The API key that submitted the request.' }),
  })
  const applicationData = document(names.applicationEvent, {
    applicationId: uuid,
    status: z
      .string()
      .min(1)
      .nullable()
      .meta({ description: `null on ${applicationAnswersChanged}.` }),
    profileId: z.int().meta({ description: 'The certifier that owns the application.' }),
  })
  const testData = document(names.bulkEvent, {
    correlationId: uuid.meta({ description: "The event's own id." }),
    taskKind: z.null(),
    requestType: z.null(),
    status: z.literal('Test'),
    profileId: z.null(),
    apiKeyId: z.null(),
  })
  return {
    bulk: envelope('BulkEvent', Object.values(tasks), bulkData),
    application: envelope('ApplicationEvent', [applicationStatusChanged, applicationAnswersChanged], applicationData),
    test: envelope('TestEvent', [test], testData),
  }
})
