import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

type Schema = Record<string, unknown>
type Content = Record<string, { schema: Schema }>
export type Operation = {
  operationId: string
  security?: unknown[]
  servers?: { url: string }[]
  requestBody?: { content: Content }
  responses: Record<string, { $ref?: string; description?: string; content?: Content }>
  'x-result-file'?: Schema
}
export type OpenApi = {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, { post: { requestBody: { content: Content } } }>
  components: { schemas: Record<string, Schema>; responses: Record<string, { content?: Content }> }
}

export type Answered = { method: string; path: string; status: number; contentType: string | null; body: unknown }

/** The descriptions that a sandbox serves, as a judge of what it answers. */
export type Descriptions = {
  /** @throws when the answer is not as described, with its path and every reason. */
  checkAnswer: (answered: Answered) => void
  /** The same for a result file, by the path to which its search or import was sent. */
  checkFile: (requestPath: string, address: string, body: unknown) => void
  /** The same for the body of a webhook's delivery, by the name of the event. */
  checkEvent: (event: string, body: unknown) => void
}

/** What is to have no member that is not described: a generated client would drop what tells one row from another. */
const complete = new Set(['RowError', 'MappedCompany', 'CompanyOutcome', 'CalculatorInputError', 'ReportRow'])

/** Reads every description that `urls` name. */
export async function readDescriptions(...urls: string[]): Promise<Descriptions> {
  const documents = await Promise.all(urls.map(readDocument))
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true })
  addFormats.default(ajv)
  for (const [index, { components }] of documents.entries()) {
    for (const [name, schema] of Object.entries(components.schemas)) {
      const judged = absolute(schema, index) as Schema
      ajv.addSchema(complete.has(name) ? { ...judged, additionalProperties: false } : judged, addressOf(index, name))
    }
  }

  const compiled = new Map<Schema, ValidateFunction>()
  const check = (index: number, schema: Schema, body: unknown, what: string) => {
    const validate = compiled.get(schema) ?? ajv.compile(absolute(schema, index) as Schema)
    compiled.set(schema, validate)
    if (validate(body)) return
    const reasons = (validate.errors ?? []).map(
      ({ instancePath, message }) => `  ${instancePath || '(all)'} ${message}`,
    )
    throw new Error(`${what} is not as described:\n${reasons.join('\n')}\n${JSON.stringify(body).slice(0, 2000)}`)
  }

  const find = (method: string, asked: string) => {
    const path = successorOf(asked)
    for (const [index, { paths }] of documents.entries()) {
      const item = paths[path] ?? Object.entries(paths).find(([template]) => patternOf(template).test(path))?.[1]
      const operation = item?.[method.toLowerCase()]
      if (operation) return { index, operation }
    }
    return null
  }

  return {
    checkAnswer: ({ method, path, status, contentType, body }) => {
      if (path.endsWith('/latest-file')) return
      const what = `${method} ${path} → ${status}`
      const found = find(method, path.split('?')[0] ?? path)
      if (!found) {
        if (status !== 404 && status !== 401) throw new Error(`${what}: no description has this operation`)
        return
      }
      const response = responseOf(documents[found.index], found.operation, status)
      if (!response) throw new Error(`${what}: the description has no such status`)
      const schema = response.content?.['application/json']?.schema
      if (!schema) {
        if (body !== undefined) throw new Error(`${what}: the description has no body`)
        return
      }
      if (!contentType?.startsWith('application/json')) throw new Error(`${what}: the content type is ${contentType}`)
      check(found.index, schema, body, what)
    },
    checkFile: (requestPath, address, body) => {
      const { origin, pathname } = new URL(address)
      const file = find('GET', pathname)
      if (!file || file.operation.servers?.[0]?.url !== origin) throw new Error(`${address} is no described address`)
      const found = find('POST', requestPath)
      const schema = found?.operation['x-result-file']
      if (!found || !schema) throw new Error(`${requestPath}: no result file is described`)
      check(found.index, schema, body, `the result file of ${requestPath}`)
    },
    checkEvent: (event, body) => {
      const schema = documents[0]?.webhooks?.[event]?.post.requestBody.content['application/json']?.schema
      if (!schema) throw new Error(`${event}: no such event is described`)
      check(0, schema, body, event)
    },
  }
}

/** Deprecated endpoints are not described, and answer as others do; the latest file alone has no successor. */
const successors: readonly (readonly [RegExp, string])[] = [
  [/^\/api\/v1\/bulk\/(companies|standards|framework-answers|calculators)\/search$/, '/api/v2/bulk/$1/search'],
  [/^\/api\/v1\/bulk\/performance-answers\/upsert$/, '/api/v2/bulk/framework-answers/upsert'],
  [/^\/api\/v1\/bulk\/consolidated\/upsert-standard-holders$/, '/api/v2/bulk/standards/holders/upsert'],
  [/^\/api\/v1\/bulk\/companies\/upsert$/, '/api/v1/bulk/company-mappings'],
  [/^\/api\/v1\/bulk\/status\//, '/api/v2/bulk/tasks/'],
  [/^\/api\/v1\/custom-properties\/custom-identifiers$/, '/api/v1/custom-properties'],
]

function successorOf(path: string): string {
  return successors.reduce((found, [deprecated, successor]) => found.replace(deprecated, successor), path)
}

export async function readDocument(url: string): Promise<OpenApi> {
  const response = await fetch(url)
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
  return (await response.json()) as OpenApi
}

function responseOf(document: OpenApi | undefined, operation: Operation, status: number) {
  const response = operation.responses[String(status)]
  const name = response?.$ref?.split('/').at(-1)
  return name === undefined ? response : document?.components.responses[name]
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/[.]/g, '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
}

function addressOf(index: number, component: string): string {
  return `http://document${index}/${component}`
}

/** References within a document lead nowhere from outside of it. */
function absolute(schema: unknown, index: number): unknown {
  if (Array.isArray(schema)) return schema.map((element) => absolute(element, index))
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === '$ref' && typeof value === 'string'
        ? [key, addressOf(index, value.replace('#/components/schemas/', ''))]
        : [key, absolute(value, index)],
    ),
  )
}
