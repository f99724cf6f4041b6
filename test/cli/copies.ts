import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
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

type Tools = { cwd: string; env: Record<string, string> }

/** Builds and packs the package as `npm pack` does, but not in this folder, where another test may do the same. */
async function pack(staging: string): Promise<{ archive: string; tools: Tools }> {
  await mkdir(staging)
  const tools = { cwd: root, env: { PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`, HOME: staging } }
  await execute(
    process.execPath,
    [join(root, 'node_modules/.bin/tsc'), '-p', join(root, 'tsconfig.build.json'), '--outDir', join(staging, 'dist')],
    tools,
  )
  await execute(process.execPath, [join(root, 'build/bundle-program.ts'), join(staging, 'dist')], tools)
  // With what must not be packed beside it.
  for (const part of ['src', 'test', 'build', '.ci', 'config', 'console', 'docs', 'packaging', 'package-lock.json'])
    await cp(join(root, part), join(staging, part), { recursive: true })
  for (const name of await readdir(root))
    if (/\.md$|^LICENSE$|^package\.json$|^tsconfig/.test(name)) await cp(join(root, name), join(staging, name))
  return { archive: await packFolder(staging, tools), tools }
}

async function packFolder(folder: string, tools: Tools): Promise<string> {
  await execute('npm', ['pack', '--ignore-scripts', '--offline'], { ...tools, cwd: folder })
  const archive = (await readdir(folder)).find((name) => name.endsWith('.tgz'))
  if (archive === undefined) throw new Error('npm pack made no archive')
  return join(folder, archive)
}

async function unpack(archive: string, folder: string, tools: Tools): Promise<void> {
  await mkdir(folder, { recursive: true })
  await execute('tar', ['-xzf', archive, '-C', folder, '--strip-components=1'], tools)
}

/** The package as `npm pack` makes it, unpacked into the `node_modules` of an otherwise empty project. */
export async function installedPackage(): Promise<Copy & { main: string }> {
  const project = await disposableFolder('project')
  const { archive, tools } = await pack(join(dirname(project.folder), 'staging'))
  const modules = join(project.folder, 'node_modules')
  const unpacked = join(modules, 'nightferry')
  await mkdir(join(modules, '.bin'), { recursive: true })
  await unpack(archive, unpacked, tools)
  for (const name of await readdir(join(root, 'node_modules')))
    if (name !== '.bin') await symlink(join(root, 'node_modules', name), join(modules, name))
  const main = join(unpacked, 'dist', 'main.js')
  await chmod(main, 0o755)
  await symlink(main, join(modules, '.bin', 'nightferry'))
  return { ...project, main }
}

export type GlobalInstallation = Copy & {
  /** What the package holds, path by path, as `tar` lists it. */
  packed: string[]
  /** The program as `npm install -g` links it. */
  program: string
  /** The folder of the package, with its dependencies in `node_modules`. */
  place: string
}

/**
 * The package installed by `npm install -g` into an empty prefix. The registry is not asked: the packages that are
 * installed here travel in the archive, and npm may use neither the network nor a cache.
 */
export async function globalInstallation(): Promise<GlobalInstallation> {
  const work = await disposableFolder('work')
  const { archive, tools } = await pack(join(dirname(work.folder), 'staging'))
  const { stdout } = await execute('tar', ['-tzf', archive], tools)
  const whole = join(dirname(work.folder), 'whole')
  await unpack(archive, whole, tools)
  await addDependencies(whole)
  const prefix = join(dirname(work.folder), 'prefix')
  await execute(
    'npm',
    ['install', '--global', '--offline', '--no-update-notifier', '--prefix', prefix, await packFolder(whole, tools)],
    { ...tools, cwd: work.folder },
  )
  return {
    ...work,
    packed: stdout
      .trim()
      .split('\n')
      .map((path) => path.replace(/^package\//, ''))
      .sort(),
    program: join(prefix, 'bin', 'nightferry'),
    place: join(prefix, 'lib', 'node_modules', 'nightferry'),
  }
}

/** Puts the packages that the program needs at run time, as they are installed here, into an unpacked package. */
async function addDependencies(folder: string): Promise<void> {
  const { stdout } = await execute('npm', ['ls', '--omit=dev', '--omit=peer', '--all', '--parseable'], {
    cwd: root,
  }).catch((error: { stdout: string }) => error)
  const modules = join(root, 'node_modules')
  for (const path of stdout.trim().split('\n')) {
    const name = relative(modules, path)
    if (name.startsWith('..') || name.includes('node_modules')) continue
    await cp(path, join(folder, 'node_modules', name), { recursive: true, verbatimSymlinks: true })
  }
  const file = join(folder, 'package.json')
  const manifest = JSON.parse(await readFile(file, 'utf8')) as Record<string, Record<string, string>>
  const bundleDependencies = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  await writeFile(file, JSON.stringify({ ...manifest, bundleDependencies }))
}
