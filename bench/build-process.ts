import { execFile } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Builds load-process.ts and what it needs into `folder`, as `npm run build` builds the program: run from the sources,
 * a process also holds the compiler that takes the types off them.
 * @param signal ends the compiler too.
 * @returns the script to start.
 */
export async function buildLoadProcess(folder: string, signal: AbortSignal): Promise<string> {
  const project = join(folder, 'tsconfig.json')
  const compilerOptions = {
    noEmit: false,
    outDir: folder,
    rootDir: root,
    typeRoots: [join(root, 'node_modules/@types')],
  }
  await writeFile(
    project,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions,
      include: [],
      files: [join(root, 'bench/load-process.ts')],
    }),
  )
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', project], { signal })
  return join(folder, 'bench/load-process.js')
}
