import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { generateApi } from 'swagger-typescript-api'

export type GeneratedClient = AsyncDisposable & {
  /** Compiles the client and the program, and loads what the program exports. */
  load(): Promise<unknown>
}

/**
 * A client of an API as a user makes one: generated from the description into `client.ts`, beside a program of theirs
 * that imports it from `./client.js`.
 */
export async function generateClient(spec: object, program: string): Promise<GeneratedClient> {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-client-'))
  await generateApi({
    // The generator changes what it is given.
    spec: JSON.parse(JSON.stringify(spec)) as NonNullable<Parameters<typeof generateApi>[0]['spec']>,
    ...{ output: folder, fileName: 'client.ts', httpClientType: 'fetch', silent: true },
  })
  await writeFile(join(folder, 'program.ts'), program)
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  return {
    load: async () => {
      await compile(folder)
      return await import(/* @vite-ignore */ pathToFileURL(join(folder, 'program.js')).href)
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

async function compile(folder: string): Promise<void> {
  const compiler = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc')
  const options = ['--strict', '--noUncheckedIndexedAccess', '--target', 'es2023', '--lib', 'es2023,dom,dom.iterable']
  const args = [compiler, ...options, '--module', 'nodenext', '--types', '', 'client.ts', 'program.ts']
  try {
    await promisify(execFile)(process.execPath, args, { cwd: folder, env: {} })
  } catch (error) {
    throw new Error(`the client does not compile:\n${(error as { stdout: string }).stdout}`)
  }
}
