import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, realpath, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { removeRunFolder } from '../helpers/test-cluster.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const execute = promisify(execFile)

export type Copy = { folder: string } & AsyncDisposable

/** A folder whose embedded server, if one was started in it, ends with it. The server's user can pass through. */
async function disposableFolder(name: string): Promise<Copy> {
  const parent = await realpath(await mkdtemp(join(tmpdir(), 'nightferry-copy-')))
  const folder = join(parent, name)
  await mkdir(folder)
  for (const each of [parent, folder]) await chmod(each, 0o755)
  return {
    folder,
    async [Symbol.asyncDispose]() {
      await removeRunFolder(join(folder, '.nightferry'))
      await removeRunFolder(parent)
    },
  }
}

/** A clone in a folder of the given name, with the packages of this one. */
export async function cloneIn(name: string): Promise<Copy> {
  const copy = await disposableFolder(name)
  for (const part of ['src', 'config', 'package.json'])
    await cp(join(root, part), join(copy.folder, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy.folder, 'node_modules'))
  return copy
}

/** The package as `npm pack` makes it, unpacked into the `node_modules` of an otherwise empty project. */
export async function installedPackage(): Promise<Copy & { main: string }> {
  const project = await disposableFolder('project')
  const staging = join(dirname(project.folder), 'staging')
  await mkdir(staging)
  const tools = { cwd: root, env: { PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`, HOME: staging } }
  await execute(
    process.execPath,
    [join(root, 'node_modules/.bin/tsc'), '-p', join(root, 'tsconfig.build.json'), '--outDir', join(staging, 'dist')],
    tools,
  )
  await execute(process.execPath, [join(root, 'build/bundle-packages.ts'), join(staging, 'dist')], tools)
  for (const part of ['config', 'docs', 'CHANGELOG.md', 'README.md', 'package.json'])
    await cp(join(root, part), join(staging, part), { recursive: true })
  await execute('npm', ['pack', '--ignore-scripts', '--offline'], { ...tools, cwd: staging })
  const archive = (await readdir(staging)).find((name) => name.endsWith('.tgz'))
  if (archive === undefined) throw new Error('npm pack made no archive')

  const modules = join(project.folder, 'node_modules')
  const unpacked = join(modules, 'nightferry')
  await mkdir(join(modules, '.bin'), { recursive: true })
  await mkdir(unpacked)
  await execute('tar', ['-xzf', join(staging, archive), '-C', unpacked, '--strip-components=1'], tools)
  for (const name of await readdir(join(root, 'node_modules')))
    if (name !== '.bin') await symlink(join(root, 'node_modules', name), join(modules, name))
  const main = join(unpacked, 'dist', 'main.js')
  await chmod(main, 0o755)
  await symlink(main, join(modules, '.bin', 'nightferry'))
  return { ...project, main }
}
