import { execFile } from 'node:child_process'
import { copyFile, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Builds the whole program into `folder`, as an installation has it: run from the sources, a process also holds the
 * compiler that takes the types off them, and needs a second more to start.
 * @param signal ends the compiler too.
 * @returns the script to start.
 */
export async function buildProgram(folder: string, signal: AbortSignal): Promise<string> {
  await mkdir(folder)
  for (const name of ['node_modules', 'config']) await symlink(join(root, name), join(folder, name))
  await copyFile(join(root, 'package.json'), join(folder, 'package.json'))
  const dist = join(folder, 'dist')
  const execute = promisify(execFile)
  const compiled = ['-p', join(root, 'tsconfig.build.json'), '--outDir', dist]
  await execute(join(root, 'node_modules/.bin/tsc'), compiled, { signal })
  await execute(process.execPath, [join(root, 'build/bundle-program.ts'), dist], { signal })
  return join(dist, 'main.js')
}
