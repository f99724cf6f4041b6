import { Readable } from 'node:stream'
import { z } from 'zod'
import type { Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from '../server/operation.ts'
import { readReport } from '../tasks/read-report.ts'

const identifier = z.string().optional().meta({ description: 'The value by which the partner named the company.' })
const inputError = z.object({ fieldTypeId: z.string().optional(), reason: z.string() })

const reportDocument = z.object({
  correlationId: z.guid(),
  rows: z.array(
    z
      .object({
        outcome: z.enum(['accepted', 'failed']),
        identifier,
        companyId: z
          .guid()
          .optional()
          .meta({ description: 'Absent when no company was found and none was named by its id.' }),
        dataPointId: z.string().optional(),
        questionId: z.string().optional(),
        propertyId: z.string().optional(),
        standardId: z.string().optional(),
        periodType: z.string().optional(),
        year: z.number().optional(),
        month: z.string().optional(),
        reason: z.string().optional(),
        message: z.string().optional(),
        errors: z
          .array(inputError)
          .optional()
          .meta({ description: 'Of a company of a calculator upsert that failed.' }),
        publishedCalculatorIds: z.array(z.guid()).optional().meta({
          description: 'Calculators whose results this request published, because automatic publishing is on.',
        }),
      })
      .meta({ id: 'ReportRow', description: 'What became of one row, named as it was sent.' }),
  ),
})

/** What the web application offers for download in its API usage area (specification, rules of processing). */
export function reportOperations(sandbox: Sandbox): Operation[] {
  const { logger } = sandbox
  return [
    operation({
      id: 'readReport',
      method: 'GET',
      path: '/sandbox/tasks/{correlationId}/report',
      tag: 'Reports',
      summary: 'What became of each row of an import, successes included',
      answers: {
        200: { description: 'The report of the request, in the order of its rows.', schema: reportDocument },
        404: { description: 'No task of the profile, or a search.' },
        409: { description: 'The task has not ended.' },
      },
      handle: async ({ apiKey, params: { correlationId = '' }, reply }) => {
        const report = await readReport(sandbox, { id: correlationId, profileId: apiKey.profileId })
        const body = Readable.from(report, { objectMode: false })
        body.on('error', (error) =>
          logger.warn({ err: error, correlation_id: correlationId }, 'sandbox_report_cut_short'),
        )
        return reply.header('content-type', 'application/json; charset=utf-8').send(body)
      },
    }),
  ]
}
