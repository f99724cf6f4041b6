import type { Access } from '../../src/http/may-enter.ts'
import { allRoutes } from '../../src/http/routes/all-routes.ts'
import { code, sentence, table } from './markdown.ts'

const needs: Record<Access, string> = {
  open: 'none',
  metrics: 'none on loopback without `http.allowedHosts`',
  read: 'any',
  act: '`http.token`',
}

/** Every route of the API, as it stands in docs/http-api.md. */
export function routeReference(): string {
  const rows = allRoutes(() => ({})).map(({ method, path, access, summary }) => [
    code(`${method} ${path}`),
    needs[access],
    sentence(summary),
  ])
  return table(['Route', 'Token', 'What it answers or does'], rows)
}
