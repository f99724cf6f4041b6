import type { TestProject } from 'vitest/node'
import { type MariadbServer, startMariadb } from './mariadb-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    mariadb: MariadbServer
  }
}

/** One MariaDB server for the whole run; every test file has databases of its own in it. */
export default async function startServer(project: TestProject): Promise<() => Promise<void>> {
  const server = await startMariadb()
  project.provide('mariadb', { port: server.port, authorityFile: server.authorityFile })
  return () => server.stop()
}
