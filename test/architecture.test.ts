import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { some } from './helpers/some.ts'
import {
  cyclesOf,
  onlyUsedOutside,
  type ReadingFile,
  readSources,
  specifiersOf,
  unusedExports,
} from './read-imports.ts'

const sources = readSources(fileURLToPath(new URL('../src', import.meta.url)))

/** Which parts of src a part may import besides itself: main → cli, http → jobs → pipeline → partner, exchange → db. */
const mayImport: Record<string, readonly RegExp[]> = {
  'main.ts': [/^cli\//],
  'counted.ts': [],
  'given.ts': [],
  'heap.ts': [],
  'read-yaml.ts': [],
  cli: [
    /^(counted|given|heap)\.ts$/,
    /^(http|doctor|init|support|backup|rehearsal|jobs|webhooks|pipeline|partner|conformance|exchange|embedded|db|config|demo)\//,
    /^world\//,
    /^sandbox\/(start-sandbox|service-world|catalogue|clock|durations|parse-duration|chaos\/parse-chaos)\.ts$/,
  ],
  http: [/^given\.ts$/, /^(jobs|pipeline|exchange|db|config|network)\//],
  doctor: [/^(counted|read-yaml)\.ts$/, /^(jobs|pipeline|partner|exchange|db|config)\//],
  init: [/^(pipeline\/streams|partner|exchange|config)\//, /^pipeline\/compare\/compared-kinds\.ts$/],
  jobs: [/^given\.ts$/, /^(pipeline|exchange|db|config)\//],
  webhooks: [/^(pipeline|exchange|db|config|network)\//],
  pipeline: [/^(counted|given|heap)\.ts$/, /^(partner|exchange|db|config)\//],
  partner: [/^db\/(copy-text\.ts|tables\/)/, /^config\/database-address\.ts$/],
  embedded: [],
  conformance: [/^read-yaml\.ts$/, /^(exchange|network|config)\//],
  exchange: [/^read-yaml\.ts$/, /^network\//],
  network: [],
  db: [],
  config: [/^read-yaml\.ts$/],
  support: [/^(doctor|db)\//],
  backup: [/^(pipeline\/destination|db)\//],
  rehearsal: [/^(pipeline|exchange|db|config|world)\//],
  world: [],
  sandbox: [/^heap\.ts$/, /^exchange\/(contract|json-bytes)\.ts$/, /^db\/copy-text\.ts$/, /^(network|world)\//],
  demo: [/^sandbox\/(hotels|catalogue|uuid-from|copy-rows)(\.ts|\/)/, /^db\/copy-text\.ts$/],
}

type Imports = { path: string; imports: readonly string[] }

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

/**
 * The stages of the pipeline, lowest first: a stage imports those before it and none after. What all of them share lies
 * in the folder itself, below them.
 */
const stages = [
  'streams',
  'reading',
  'gate',
  'reference',
  'preflight',
  'delta',
  'push',
  'pull',
  'compare',
  'actions',
  'destination',
  'report',
  'notify',
  'plan',
]

/** Where a file stands among the stages; -1: below all of them; undefined: outside the pipeline. */
function stageOf(path: string): number | undefined {
  const [part, folder, file] = path.split('/')
  if (part !== 'pipeline' || folder === undefined) return undefined
  return file === undefined ? -1 : stages.indexOf(folder)
}

/** Imports of a later stage, as sentences. */
function upwardImports(files: readonly Imports[]): string[] {
  return files.flatMap(({ path, imports }) => {
    const own = stageOf(path)
    if (own === undefined) return []
    return imports
      .filter((target) => (stageOf(target) ?? -1) > own)
      .map((target) => `src/${path} imports src/${target}`)
  })
}

test('every stage of the pipeline imports only the stages before it', () => {
  expect(upwardImports(sources)).toEqual([])
  const folders = sources.map(({ path }) => path.split('/')).filter(([part, , file]) => part === 'pipeline' && file)
  expect([...new Set(folders.map(([, folder = '']) => folder))].sort()).toEqual(stages.toSorted())
})

test('the check sees an arrow against the order of the stages', () => {
  const files = [
    { path: 'pipeline/push/send.ts', imports: ['pipeline/pull/load-page.ts', 'pipeline/delta/extract.ts'] },
    { path: 'pipeline/deps.ts', imports: ['pipeline/streams/columns.ts'] },
    { path: 'jobs/engine.ts', imports: ['pipeline/plan/plan-run.ts'] },
  ]
  expect(upwardImports(files)).toEqual([
    'src/pipeline/push/send.ts imports src/pipeline/pull/load-page.ts',
    'src/pipeline/deps.ts imports src/pipeline/streams/columns.ts',
  ])
})

/** Folders of src/db that one stage of the pipeline alone uses: they belong to that stage. */
function ownedByOneStage(files: readonly Imports[]): string[] {
  const users = new Map<string, Set<string>>()
  for (const { path, imports } of files) {
    for (const target of imports) {
      const folder = target.split('/').slice(0, 2).join('/')
      if (!/^db\/[^.]+$/.test(folder) || folder === 'db/tables') continue
      const user = path.startsWith('pipeline/') ? path.split('/').slice(0, 2).join('/') : partOf(path)
      if (!path.startsWith(`${folder}/`)) users.set(folder, (users.get(folder) ?? new Set()).add(user))
    }
  }
  const owned = [...users].filter(([, by]) => by.size === 1 && [...by].every((user) => user.startsWith('pipeline/')))
  return owned.map(([folder, by]) => `src/${folder} is used by src/${[...by].join()} alone`)
}

/** Whether a file has a statement: a template, one put together by kysely, or one for the driver. */
function asksDatabase(text: string): boolean {
  return /\bsql(<[^`]*>)?`|\.(selectFrom|insertInto|updateTable|deleteFrom)\(|\.query(<[^(]*>)?\(\s*['"`]/.test(text)
}

test('the check sees a statement in every form', () => {
  const forms = ['await sql`select 1`', 'sql<Row>`select 1`', "db.selectFrom('run')", "client.query<Row>('select 1')"]
  expect(forms.filter(asksDatabase)).toEqual(forms)
  expect(['const sqlState = error.code', 'client.query(whatThePersonAsks)'].some(asksDatabase)).toBe(false)
})

test('statements that one stage alone needs stand in that stage, and verbs have none', () => {
  expect(ownedByOneStage(sources)).toEqual([])
  const verbs = sources.filter(({ path }) => path.startsWith('cli/'))
  expect(some(verbs).flatMap(({ path, text }) => (asksDatabase(text) ? [path] : []))).toEqual([])
})

test('the check sees a folder that one stage alone uses', () => {
  const files: Imports[] = [
    { path: 'pipeline/delta/extract.ts', imports: ['db/landing/land.ts', 'db/ledger/plan.ts', 'db/tables/row.ts'] },
    { path: 'pipeline/push/send.ts', imports: ['db/ledger/plan.ts'] },
    { path: 'cli/verbs/trace.ts', imports: ['db/trace/trace.ts'] },
  ]
  expect(ownedByOneStage(files)).toEqual(['src/db/landing is used by src/pipeline/delta alone'])
})

/** Paths of files that share their name with another file. */
function repeatedNames(paths: readonly string[]): string[] {
  const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)
  const counts = Map.groupBy(paths, nameOf)
  return paths.filter((path) => (counts.get(nameOf(path))?.length ?? 0) > 1)
}

test('no two files of src have the same name', () => {
  expect(repeatedNames(sources.map(({ path }) => path))).toEqual([])
  expect(repeatedNames(['a/run.ts', 'b/run.ts', 'b/walk.ts'])).toEqual(['a/run.ts', 'b/run.ts'])
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

/** Files of a folder of the project; of the project's own folder only what lies in it. */
function filesOf(folder: string, recursive: boolean): ReadingFile[] {
  return readdirSync(folder, { recursive, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ file: join(folder, name), text: readFileSync(join(folder, name), 'utf8') }))
}

test('no file of src exports what nobody imports', () => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const files = filesOf(join(root, 'src'), true)
  const others = ['test', 'bench', 'build'].flatMap((folder) => filesOf(join(root, folder), true))
  expect(unusedExports(files, [...files, ...others, ...filesOf(root, false)])).toEqual([])
})

test('the check sees exports and imports in every form', () => {
  const file = (name: string, text: string): ReadingFile => ({ file: `/src/${name}.ts`, text })
  const names = ['one', 'two', 'three', 'four', 'five', 'six']
  const exporting = file('a', names.map((name) => `export const ${name} = 1`).join('\n'))
  const whole = file('whole', 'export class Seven {}\nexport type Eight = 1')
  const readers = [
    file('b', "import { one, type two as other } from './a.ts'\nimport * as all from './whole.ts'"),
    file('c', "export const x = (await import('./a.ts')).three\nconst { four: y } = await import('./a.ts')"),
    file('d', "import('./a.ts').then(({ five }) => five())"),
  ]
  expect(unusedExports([exporting, whole], readers)).toEqual(['/src/a.ts: six'])
  expect(unusedExports([whole], [])).toEqual(['/src/whole.ts: Seven', '/src/whole.ts: Eight'])
})

test('src has no code that only tests and benches use', () => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const files = filesOf(join(root, 'src'), true)
  expect(onlyUsedOutside(files, [...files, ...filesOf(join(root, 'build'), true)])).toEqual([])
  expect(unreachable(sources, ['main.ts', 'config/write-schema.ts'])).toEqual([])
})

test('the check sees an export that its own file does not use, and a file that nothing leads to', () => {
  const text = [
    '/** Not `spare`. */',
    'export const used = 1',
    'export const spare = 2',
    'export const both = used',
    '// spare',
  ].join('\n')
  const file = { file: '/src/a.ts', text }
  expect(onlyUsedOutside([file], [file])).toEqual(['/src/a.ts: spare', '/src/a.ts: both'])
  const reader = { file: '/src/b.ts', text: "import { both } from './a.ts'" }
  expect(onlyUsedOutside([file], [reader])).toEqual(['/src/a.ts: spare'])
  const files = [
    { path: 'main.ts', imports: ['a.ts'] },
    { path: 'a.ts', imports: [] },
    { path: 'b.ts', imports: ['a.ts'] },
  ]
  expect(unreachable(files, ['main.ts'])).toEqual(['b.ts'])
})

/** Files to which no import leads from those where the program begins. */
function unreachable(files: readonly Imports[], begin: readonly string[]): string[] {
  const importsOf = new Map(files.map(({ path, imports }) => [path, imports]))
  const reached = new Set<string>()
  const visit = (path: string): void => {
    if (reached.has(path)) return
    reached.add(path)
    for (const target of importsOf.get(path) ?? []) visit(target)
  }
  for (const path of begin) visit(path)
  return files.map(({ path }) => path).filter((path) => !reached.has(path))
}

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

test('a path to a file of the package stands one folder deep, as the pieces of the built program do', () => {
  const paths = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/new URL\([^)]*?(['"`])(\.\.\/[^'"`]*)\1/g)].map(([, , target = '']) => ({ path, target })),
  )
  const offences = some(paths).filter(({ path, target }) => {
    const up = target.match(/\.\.\//g)?.length ?? 0
    return path.split('/').length !== 2 || up > 2
  })
  expect(offences).toEqual([])
})

test('no file of src is longer than 350 lines', () => {
  const long = sources.filter(({ text }) => text.split('\n').length > 351)
  expect(long.map(({ path, text }) => `src/${path}: ${text.split('\n').length - 1} lines`)).toEqual([])
})

test('no line of a comment is longer than 120 columns', () => {
  const long = sources.flatMap(({ path, text }) =>
    text
      .split('\n')
      .filter((line) => line.length > 120 && /^\s*(\*|\/\/|\/\*)/.test(line))
      .map((line) => `src/${path}: ${line.trim()}`),
  )
  expect(long).toEqual([])
})

/** The statements of a file, each as its lines from the tag to the closing backtick. */
function statementsIn(text: string): string[][] {
  return [...text.matchAll(/\bsql(<[^`;]*?>)?`/g)].map(({ index, 0: tag }) => {
    let depth = 0
    let end = index + tag.length
    for (; end < text.length && !(depth === 0 && text[end] === '`'); end++) {
      if (text[end] === '\\') end++
      else if (text.startsWith('${', end)) depth++
      else if (depth > 0 && text[end] === '}') depth--
    }
    return text.slice(text.lastIndexOf('\n', index) + 1, end).split('\n')
  })
}

test('no line of SQL is longer than 120 columns', () => {
  // A migration's words for a column stand in one literal each.
  const long = sources
    .filter(({ path }) => !path.startsWith('db/migrations/'))
    .flatMap(({ path, text }) =>
      statementsIn(text)
        .flat()
        .filter((line) => line.length > 120)
        .map((line) => `src/${path}: ${line.trim()}`),
    )
  expect(long).toEqual([])
  const found = statementsIn(`await sql<Row>\`\n  select \${sql.lit(1)}\n  from run\`.execute(db)\nother`)
  expect(found).toEqual([['await sql<Row>`', `  select \${sql.lit(1)}`, '  from run']])
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
