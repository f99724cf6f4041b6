import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { cyclesOf, readSources, specifiersOf } from './read-imports.ts'

const sources = readSources(fileURLToPath(new URL('../src', import.meta.url)))

/** Which parts of src a part may import besides itself: main → cli, http → jobs → pipeline → exchange, db. */
const mayImport: Record<string, readonly RegExp[]> = {
  'main.ts': [/^cli\//],
  cli: [
    /^(http|jobs|pipeline|conformance|exchange|db|config|demo)\//,
    /^sandbox\/(start-sandbox|catalogue|clock|durations|parse-duration|chaos\/parse-chaos)\.ts$/,
  ],
  http: [/^(jobs|pipeline|exchange|db|config)\//],
  jobs: [/^(pipeline|exchange|db|config)\//],
  pipeline: [/^(exchange|db|config)\//],
  conformance: [/^(exchange|network|config)\//],
  exchange: [/^network\//],
  network: [],
  db: [/^config\//],
  config: [],
  sandbox: [/^exchange\/contract\.ts$/, /^network\//],
  demo: [/^sandbox\/(hotels|catalogue|uuid-from)(\.ts|\/)/],
}

function partOf(path: string): string {
  return path.split('/')[0] ?? path
}

test('every part of src imports only what lies below it', () => {
  const offences = sources.flatMap(({ path, imports }) =>
    imports
      .filter((target) => partOf(target) !== partOf(path))
      .filter((target) => !(mayImport[partOf(path)] ?? []).some((allowed) => allowed.test(target)))
      .map((target) => `src/${path} imports src/${target}`),
  )
  expect(offences).toEqual([])
})

test('src has no part whose imports nobody has decided on', () => {
  expect([...new Set(sources.map(({ path }) => partOf(path)))].filter((part) => !(part in mayImport))).toEqual([])
})

test('no file of src imports itself by a detour', () => {
  expect(cyclesOf(sources)).toEqual([])
})

test('the check sees imports in every form, and cycles of any length', () => {
  const text = [
    "import './a.ts'",
    "import one, { two } from './b.ts'",
    "import {\n  three,\n  type Four,\n} from './c.ts'",
    "export * from './d.ts'",
    "const later = await import('./e.ts')",
    "const text = 'from nothing'",
  ].join('\n')
  expect(specifiersOf(text).sort()).toEqual(['./a.ts', './b.ts', './c.ts', './d.ts', './e.ts'])
  const file = (path: string, ...imports: string[]) => ({ path, imports })
  const files = [file('a', 'b', 'd'), file('b', 'c'), file('c', 'a'), file('d')]
  expect(cyclesOf(files)).toEqual(['a → b → c → a'])
  expect(cyclesOf([file('a', 'a')])).toEqual(['a → a'])
})

test('only main.ts reads the environment, the arguments and the working folder', () => {
  const reading = /\bprocess\.(env|argv|cwd)\b|\bimport\s*\{[^}]*\b(env|argv|cwd)\b[^}]*\}\s*from\s*'node:process'/
  expect(sources.filter(({ path, text }) => path !== 'main.ts' && reading.test(text)).map(({ path }) => path)).toEqual(
    [],
  )
})

test('every process that is started is given its environment, and inherits none unseen', () => {
  const offences = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/(?<![.\w])(?:spawn|spawnSync|execFile|execFileSync|exec|execSync|fork)\([\s\S]{0,700}/g)]
      .filter(([call]) => !/\benv\b/.test(call))
      .map(([call]) => `src/${path}: ${call.split('\n')[0]}`),
  )
  expect(offences).toEqual([])
})

test('no file of src is longer than 350 lines', () => {
  const long = sources.filter(({ text }) => text.split('\n').length > 351)
  expect(long.map(({ path, text }) => `src/${path}: ${text.split('\n').length - 1} lines`)).toEqual([])
})

test('paths, statuses and request types of the service are spelt in config/contract.yaml only', () => {
  const file = fileURLToPath(new URL('../config/contract.yaml', import.meta.url))
  const contract = parse(readFileSync(file, 'utf8')) as {
    endpoints: Record<string, { path: string }>
    taskNames: Record<string, { kind: string; requestType: string }>
  }
  const spelt = [
    '/api/v',
    ...Object.values(contract.taskNames).flatMap(({ kind, requestType }) => [kind, requestType]),
    ...['Scheduled', 'InProgress', 'PartialSuccess', 'Cancelled'],
  ].filter((name) => name !== '')
  const offences = sources.flatMap(({ path, text }) =>
    spelt
      .filter((name) => new RegExp(`['"\`]${name}${name.endsWith('v') ? '' : '[\'"`]'}`).test(text))
      .map((name) => `src/${path} spells ${name}`),
  )
  expect(offences).toEqual([])
})
