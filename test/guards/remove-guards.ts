/**
 * Takes each guard out, one at a time, and runs the tests that must fail then: node test/guards/remove-guards.ts
 * [--only units|database] [--name PART]
 *
 * Works in a copy of what git knows, so that the sources stay as they are. Prints a row for each guard, and exits 1 if
 * no test notices that a guard is gone, or if its tests fail although it is there.
 */
import { execFile, execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Guard, guardsOfDatabase, guardsOfUnits } from './guards.ts'

const { values } = parseArgs({ options: { only: { type: 'string' }, name: { type: 'string' } } })
const root = fileURLToPath(new URL('../..', import.meta.url))

/** A test that hangs without its guard has missed it, too. Milliseconds. */
const mostMs = 300_000

type Outcome = { failed: string[]; passed: number; hung: boolean; said: string }

async function copyOfSources(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-guards-'))
  const known = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
  for (const path of known.toString().split('\n').filter(Boolean)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await cp(join(root, path), join(folder, path))
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Runs the tests of a guard. What a test says of itself tells a failure from a program that does not even load. */
async function runTests(folder: string, config: string, { test, title }: Guard): Promise<Outcome> {
  const report = join(folder, 'report.json')
  await rm(report, { force: true })
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', config, test, '--maxWorkers=1']
  const shown = [...args, '--reporter=json', `--outputFile.json=${report}`, ...(title ? ['-t', title] : [])]
  const hung = await new Promise<{ hung: boolean; said: string }>((resolve) => {
    const options = { cwd: folder, timeout: mostMs, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, shown, options, (error, _stdout, stderr) => {
      resolve({ hung: error?.killed === true, said: stderr.slice(-2_000) })
    })
  })
  const written = await readFile(report, 'utf8').catch(() => '{"testResults":[]}')
  const { testResults } = JSON.parse(written) as {
    testResults: { assertionResults: { status: string; fullName: string }[] }[]
  }
  const results = testResults.flatMap(({ assertionResults }) => assertionResults)
  return {
    ...hung,
    failed: results.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName.trim()),
    passed: results.filter(({ status }) => status === 'passed').length,
  }
}

/** Takes a guard out for as long as `work` takes. */
async function withoutGuard<T>(folder: string, { file, text, without }: Guard, work: () => Promise<T>): Promise<T> {
  const path = join(folder, file)
  const whole = await readFile(path, 'utf8')
  if (whole.split(text).length !== 2) throw new Error(`${file} does not hold this once: ${text}`)
  await writeFile(
    path,
    whole.replace(text, () => without),
  )
  try {
    return await work()
  } finally {
    await writeFile(path, whole)
  }
}

const groups = [
  { of: 'units', guards: guardsOfUnits, config: 'vitest.guards.config.ts' },
  { of: 'database', guards: guardsOfDatabase, config: 'vitest.config.ts' },
].filter(({ of }) => values.only === undefined || values.only === of)

const folder = await copyOfSources()
const missed: string[] = []
let removed = 0
try {
  for (const { guards, config } of groups) {
    const whole = new Map<string, Outcome>()
    for (const guard of guards.filter(({ name }) => values.name === undefined || name.includes(values.name))) {
      const key = `${guard.test} ${guard.title ?? ''}`
      const before = whole.get(key) ?? (await runTests(folder, config, guard))
      whole.set(key, before)
      const after = await withoutGuard(folder, guard, () => runTests(folder, config, guard))
      removed += 1
      const sound = before.failed.length === 0 && before.passed > 0
      const noticed = sound && (after.failed.length > 0 || after.hung)
      if (!noticed) missed.push(guard.name)
      const [first = after.hung ? 'it does not end' : sound ? after.said : before.said] = after.failed
      const count = `${after.failed.length} of ${after.failed.length + after.passed}`
      process.stdout.write(`${noticed ? 'noticed' : 'MISSED '} | ${guard.name} | ${guard.test} | ${count} | ${first}\n`)
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
process.stdout.write(`${removed} guards were taken out, one at a time; ${missed.length} went unnoticed.\n`)
if (missed.length > 0) process.exitCode = 1
