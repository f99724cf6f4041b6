import { z } from 'zod'
import { type BodyTemplate, type ObjectTemplate, readObjectTemplate, type TemplateProblem } from './body-template.ts'

/** Where a wire name comes from: the specification, public clients of the service, or our assumption. */
const source = z.enum(['stated', 'public', 'assumed'])

export const endpoint = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z
    .string()
    .startsWith('/')
    .regex(/^[^?#]*$/, 'has a ? or a #; an endpoint is asked by its path alone, without a query'),
  source,
})
export const name = z.strictObject({ name: z.string().min(1), source })
export const taskName = z.strictObject({ kind: z.string().min(1), requestType: z.string(), source })

/** An endpoint of the service; `path` may contain one `{placeholder}`. */
export type Endpoint = z.infer<typeof endpoint>

/** How the task of a bulk request names itself; a request type that is null there is empty here. */
export type TaskName = z.infer<typeof taskName>

/** How the result file of a kind names what became of each property. */
export type ResultFileNames = {
  list: string
  id: string
  status: string
  accepted: readonly (string | boolean)[]
  /** Null: whatever is not accepted is rejected. Otherwise a status that is in neither list is not known. */
  rejected: readonly (string | boolean)[] | null
  reason: string | null
  companyId: string | null
}

/** A bulk request that a deployment has and the specification does not show, as the contract file describes it. */
export type GenericKind = {
  name: string
  endpoint: Endpoint
  taskName: TaskName
  /** The stream whose rows travel in it. */
  stream: string
  /** What the stream's query yields, the partner's id included. */
  columns: readonly string[]
  partnerId: string
  /** With the partner's id, what a row writes at the service. */
  key: readonly string[]
  /** Streams whose row of the same property must be accepted first, unless the configuration says otherwise. */
  requires: readonly string[]
  partitionBy: string | null
  rows: { default: number; maximum: number }
  body: {
    head: ObjectTemplate
    list: string
    element: ObjectTemplate
    /** One element per property, with a list of its rows. */
    inner: { list: string; element: BodyTemplate } | null
  }
  outcomes: 'error_rows' | ResultFileNames
}

/** Names of ours end up in tables, logs and SQL identifiers, so they have one form. */
const ownName = z
  .string()
  .regex(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/, 'is no name in snake_case')
  .max(63)
const wireName = z.string().min(1)
const statuses = z.array(z.union([z.string().min(1), z.boolean()])).min(1)
/** How zod marks what is found by the code of a schema's author. */
const ofOurs = 'custom'

const rowCount = z.number().int().min(1).max(100_000)

/** Rows of a request unless the contract says otherwise: few, for smaller requests succeed more often (Limits). */
const defaultRows = 1_000

const entry = z
  .strictObject({
    endpoint,
    taskName,
    stream: ownName,
    columns: z.array(ownName).min(1),
    partnerId: ownName.default('partner_id'),
    key: z.array(ownName).default([]),
    requires: z.array(ownName).default(['properties']),
    partitionBy: ownName.nullable().default(null),
    rows: z
      .strictObject({ default: rowCount.default(defaultRows), maximum: rowCount.optional() })
      .prefault({})
      .refine((rows) => rows.default <= (rows.maximum ?? rows.default), {
        path: ['default'],
        error: 'is more than the maximum',
      }),
    body: z.strictObject({
      head: z.unknown().default({}),
      list: wireName,
      element: z.unknown().optional(),
      inner: z.strictObject({ list: wireName, element: z.unknown().optional() }).nullable().default(null),
    }),
    outcomes: z.union(
      [
        z.literal('error_rows'),
        z.strictObject({
          resultFile: z.strictObject({
            list: wireName,
            id: wireName,
            status: wireName,
            accepted: statuses,
            rejected: statuses.nullable().default(null),
            reason: wireName.nullable().default(null),
            companyId: wireName.nullable().default(null),
          }),
        }),
      ],
      { error: 'is neither error_rows nor resultFile with its list, id, status and accepted' },
    ),
  })
  .transform((raw, ctx): Omit<GenericKind, 'name'> => {
    const { kind, problems } = compile(raw)
    for (const { path, message } of problems) ctx.addIssue({ code: ofOurs, path, message })
    return problems.length === 0 ? kind : z.NEVER
  })

/** The section `kinds` of a contract file: by name, what a deployment adds. */
export const genericKinds = z
  .record(z.string(), entry)
  .default({})
  .transform((kinds, ctx): GenericKind[] =>
    Object.entries(kinds).map(([name, kind]) => {
      const [issue] = ownName.safeParse(name).error?.issues ?? []
      if (issue !== undefined) ctx.addIssue({ code: ofOurs, path: [name], message: issue.message })
      return { name, ...kind }
    }),
  )

type Raw = z.output<(typeof entry)['in']>

function compile(raw: Raw): { kind: Omit<GenericKind, 'name'>; problems: TemplateProblem[] } {
  const { columns, partnerId, key, partitionBy, rows, body, outcomes, ...rest } = raw
  const problems: TemplateProblem[] = columnProblems(raw)
  const scope = (allowed: readonly (string | null)[]) => ({
    columns: allowed.filter((column) => column !== null),
    problems,
  })
  // What stands once in a request, or once for a property, can only contain what all its rows share.
  const head = readObjectTemplate(body.head, ['body', 'head'], scope([partitionBy]))
  const ofElement = body.inner === null ? columns : [partnerId, partitionBy]
  const element = readObjectTemplate(body.element, ['body', 'element'], scope(ofElement))
  const inner =
    body.inner === null
      ? null
      : {
          list: body.inner.list,
          element: readObjectTemplate(body.inner.element, ['body', 'inner', 'element'], scope(columns)),
        }
  if (has(head, body.list))
    problems.push({ path: ['body', 'list'], message: `${body.list} is a member of the head too` })
  if (inner !== null && has(element, inner.list)) {
    problems.push({ path: ['body', 'inner', 'list'], message: `${inner.list} is a member of the element too` })
  }
  return {
    kind: {
      ...rest,
      columns,
      partnerId,
      key,
      partitionBy,
      rows: { default: rows.default, maximum: rows.maximum ?? rows.default },
      body: { head, list: body.list, element, inner },
      outcomes: outcomes === 'error_rows' ? outcomes : outcomes.resultFile,
    },
    problems,
  }
}

function columnProblems({ columns, partnerId, key, partitionBy }: Raw): TemplateProblem[] {
  const named: [path: (string | number)[], column: string][] = [
    [['partnerId'], partnerId],
    ...key.map((column, index): [(string | number)[], string] => [['key', index], column]),
    ...(partitionBy === null ? [] : [[['partitionBy'], partitionBy] satisfies [string[], string]]),
  ]
  const twice = columns.findIndex((column, index) => columns.indexOf(column) !== index)
  return [
    ...(twice < 0 ? [] : [{ path: ['columns', twice], message: `${columns[twice]} is named twice` }]),
    ...named
      .filter(([, column]) => !columns.includes(column))
      .map(([path, column]) => ({ path, message: `${column} is none of the columns: ${columns.join(', ')}` })),
  ]
}

function has({ members }: ObjectTemplate, member: string): boolean {
  return members.some(([name]) => name === member)
}
