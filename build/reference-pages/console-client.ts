import { generateApi } from 'swagger-typescript-api'
import { allRoutes, describeRoutes } from '../../src/http/routes/all-routes.ts'

/** The types of the console's client: one per answer, named after the operation. */
export async function consoleTypes(): Promise<string> {
  const description = describeRoutes(
    allRoutes(() => ({})),
    '0.0.0',
  )
  const { files } = await generateApi({
    output: false,
    spec: description as never,
    generateClient: false,
    extractResponseBody: true,
    extractRequestBody: true,
    silent: true,
  })
  const content = files.map(({ fileContent }) => fileContent).join('\n')
  const head = '// Written by `npm run generate`, from the description of the HTTP API.\n\n'
  return head + plain(content)
}

/** Without limits and patterns, which only a server checks, and with `unknown` for what may be anything. Pure. */
function plain(content: string): string {
  return content
    .replace(/^\/\*[\s\S]*?\*\/\s*/, '')
    .replace(/^\/\/ @ts-nocheck\n/gm, '')
    .replace(/^ *\* @(min|max|format|pattern|default|exclusiveMin|minLength|maxLength|minItems).*\n/gm, '')
    .replace(/^ *\/\*\*\n *\*\/\n/gm, '')
    .replace(/\bany\b(?=[>;,\][])/g, 'unknown')
}
