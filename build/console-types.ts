/** Writes console/src/api-types.ts: the types of what the HTTP API takes and answers, from its own description. */
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { consoleTypes } from './reference-pages/console-client.ts'

await writeFile(fileURLToPath(new URL('../console/src/api-types.ts', import.meta.url)), await consoleTypes())
