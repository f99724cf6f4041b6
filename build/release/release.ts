/**
 * A release: npm run release -- VERSION [--dry-run]
 *
 * Closes the section of CHANGELOG.md, sets the version, builds and packs, checks what is in the package, lists every
 * dependency with its licence, commits and tags. Nothing is published: that is a person's to do, with the files in
 * `release/`. With --dry-run everything is done and checked but in a copy, and the project stays as it is.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BillOfMaterials, licenceList } from './bill-of-materials.ts'
import { closeSection } from './changelog.ts'
import { packedFaults } from './packed-files.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
const [version = '', ...options] = process.argv.slice(2)
const dryRun = options.includes('--dry-run')

try {
  if (!/^\d+\.\d+\.\d+$/.test(version) || options.some((option) => option !== '--dry-run')) {
    throw new Error('Usage: npm run release -- VERSION [--dry-run], with a version such as 0.2.0')
  }
  const dirty = run(project, 'git', 'status', '--porcelain')
  if (dirty !== '') throw new Error(`Commit or put aside first:\n${dirty}`)
  if (run(project, 'git', 'tag', '--list', `v${version}`) !== '') throw new Error(`There is a tag v${version} already`)
  if (dryRun) inCopy((copy) => release(copy))
  else releaseOrUndo()
} catch (error) {
  process.stderr.write(`release: ${(error as Error).message}\n`)
  process.exitCode = 1
}

/** The project was as it is committed, so what was written until it failed can be taken back. */
function releaseOrUndo(): void {
  try {
    release(project)
  } catch (error) {
    run(project, 'git', 'reset', '--quiet', '--hard')
    throw error
  }
}

function release(root: string): void {
  const written = setVersion(root)
  const folder = join(root, 'release')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const packed = JSON.parse(run(root, 'npm', 'pack', '--silent', '--json', '--pack-destination', folder)) as unknown
  // A list before npm 12, and by name from then on.
  const [archive] = Object.values(
    packed as Record<string, { filename: string; size: number; files: { path: string }[] }>,
  )
  if (archive === undefined) throw new Error('npm pack made no archive')
  const faults = packedFaults(archive.files.map(({ path }) => path))
  if (faults.length > 0) throw new Error(`The package is not as it should be:\n${faults.join('\n')}`)
  say(`${archive.filename}: ${archive.files.length} files, ${archive.size} bytes`)

  const listing = run(
    root,
    'npm',
    'sbom',
    '--sbom-format=cyclonedx',
    '--package-lock-only',
    '--omit=dev',
    '--omit=peer',
  )
  const materials = JSON.parse(listing) as BillOfMaterials
  writeFileSync(join(folder, `nightferry-${version}.cdx.json`), listing)
  writeFileSync(join(folder, `nightferry-${version}.licences.txt`), licenceList(materials))
  writeFileSync(join(folder, `nightferry-${version}.changes.md`), `${written.section}\n`)
  say(`${materials.components.length} dependencies, every licence known`)

  run(root, 'git', 'add', '--', ...written.files)
  run(root, 'git', 'commit', '--quiet', '--message', `Version ${version}`)
  run(root, 'git', 'tag', '--annotate', `v${version}`, '--message', `Version ${version}`)
  say(
    dryRun
      ? `Tried in a copy, which is gone: commit, tag v${version}`
      : `Tagged v${version}; the files are in release/`,
  )
}

/** Writes the version wherever it stands. */
function setVersion(root: string): { files: string[]; section: string } {
  const change = (path: string, changed: (text: string) => string) => {
    const file = join(root, path)
    writeFileSync(file, changed(readFileSync(file, 'utf8')))
    return path
  }
  let section = ''
  const day = new Date().toISOString().slice(0, 10)
  const changes = change('CHANGELOG.md', (text) => {
    const closed = closeSection(text, version, day)
    section = closed.section
    return closed.changelog
  })
  const image = change('packaging/kubernetes/nightferry.yaml', (text) =>
    text.replace(/(image: nightferry:)\S+/, `$1${version}`),
  )
  const page = change('docs/operations.md', (text) =>
    text.replaceAll(/nightferry-\d+\.\d+\.\d+\.tgz/g, `nightferry-${version}.tgz`),
  )
  run(root, 'npm', 'version', '--no-git-tag-version', '--allow-same-version', version)
  return { files: [changes, image, page, 'package.json', 'package-lock.json'], section }
}

function inCopy(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'nightferry-release-'))
  const copy = join(folder, 'copy')
  try {
    run(project, 'git', 'clone', '--quiet', '--no-hardlinks', project, copy)
    for (const name of ['user.name', 'user.email']) {
      run(copy, 'git', 'config', name, 'nightferry release')
    }
    symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'))
    work(copy)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(cwd: string, file: string, ...args: string[]): string {
  const env = { ...process.env, npm_config_update_notifier: 'false' }
  return execFileSync(file, args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 27,
  }).trim()
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
