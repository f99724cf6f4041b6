/**
 * `node build/count-house.ts`: how large the house is, and who imports whom. With `--way` it also carries one hotel
 * through the demo, in a folder that it removes, and counts the files in which code ran. Nothing of src is loaded here.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readSources, type SourceFile } from '../test/read-imports.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = readSources(join(root, 'src'))
const said = ['sandbox', 'conformance', 'demo']

/** A part of src; within the pipeline, a stage. */
function roomOf(path: string): string {
  const [part = '', stage = '', file] = path.split('/')
  return part === 'pipeline' && file !== undefined ? stage : part.replace('.ts', '')
}

function sizes(name: string, files: readonly SourceFile[]) {
  const lines = files.map(({ text }) => text.split('\n').length - 1).toSorted((a, b) => a - b)
  const at = (share: number) => lines[Math.min(lines.length - 1, Math.floor(lines.length * share))] ?? 0
  const total = lines.reduce((sum, one) => sum + one, 0)
  return { of: name, files: files.length, lines: total, median: at(0.5), 'nine tenths': at(0.9), longest: at(1) }
}

/** Import statements from each room (a line) to each other (a column). */
function matrix(): Record<string, Record<string, number>> {
  const counted: Record<string, Record<string, number>> = {}
  for (const { path, imports } of sources) {
    for (const target of imports) {
      const [from, to] = [roomOf(path), roomOf(target)]
      if (from === to) continue
      counted[from] = { ...counted[from], [to]: (counted[from]?.[to] ?? 0) + 1 }
    }
  }
  return counted
}

type Coverage = { result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[] }

/** Files of src in which a function ran while the demo carried one hotel for two nights. */
async function filesThatRan(): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-way-'))
  try {
    const demo = spawn(process.execPath, [join(root, 'src/main.ts'), 'demo', '--hotels', '1'], {
      cwd: folder,
      env: { ...process.env, NODE_V8_COVERAGE: join(folder, 'coverage') },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code] = (await once(demo, 'exit')) as [number | null]
    if (code !== 0) throw new Error(`the demo ended with ${code}`)
    const ran = new Set<string>()
    for (const name of await readdir(join(folder, 'coverage'))) {
      const { result } = JSON.parse(await readFile(join(folder, 'coverage', name), 'utf8')) as Coverage
      for (const { url, functions } of result) {
        const [, path] = /\/src\/(.*\.ts)$/.exec(url) ?? []
        // The first function is the module itself, which runs in every file that is loaded.
        const called = functions.slice(1).some(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
        if (path !== undefined && called && url.startsWith(`file://${root}`)) ran.add(path)
      }
    }
    return [...ran]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const ways: Record<string, readonly string[]> = {
  'a row: streams, delta, preflight, push': ['streams', 'delta', 'preflight', 'push'],
  'a row, with partner, gate, exchange and db': [
    ...['streams', 'delta', 'preflight', 'push'],
    ...['partner', 'gate', 'exchange', 'db'],
  ],
  'a page: reading, pull': ['reading', 'pull'],
  'a page, with gate, exchange and db': ['reading', 'pull', 'gate', 'exchange', 'db'],
}

console.table([
  sizes('src', sources),
  sizes(
    `src without ${said.join(', ')}`,
    sources.filter(({ path }) => !said.includes(roomOf(path))),
  ),
])
const rooms = [...new Set(sources.map(({ path }) => roomOf(path)))].toSorted()
console.table(
  rooms.map((room) =>
    sizes(
      room,
      sources.filter(({ path }) => roomOf(path) === room),
    ),
  ),
)
console.table(matrix())
if (process.argv.includes('--way')) {
  const ran = await filesThatRan()
  console.table(
    Object.entries(ways).map(([way, parts]) => ({
      way,
      'files in which code ran': ran.filter((path) => parts.includes(roomOf(path))).length,
    })),
  )
}
