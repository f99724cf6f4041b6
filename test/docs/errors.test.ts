import { describe, expect, test } from 'vitest'
import { loadContract } from '../../src/exchange/contract.ts'
import { firstCells, type Page, readPage, root, section, sources } from './pages.ts'

const page = readPage('docs/errors.md')
const ours = sources()
const contract = loadContract(`${root}/config/contract.yaml`)

/** Every way in which a source file of Nightferry writes a code down. */
const spellings = [
  /\breadonly code = '(\w+)'/g,
  /\bcode: typeof code === 'string' \? code : '(\w+)'/g,
  /\b(?:error_)?code: '(\w+)'/g,
  /\boutcome_code = '(\w+)'/g,
  /\bnew StopRun\(\s*(?:[\w.]+ \?\? )?'(\w+)'/g,
  /sameOutcome\([^)]*'(?:rejected|unknown)',\s*'(\w+)'/g,
  /then '(\w+)'\s+(?:else (?:named|told)\.code|when \$\{mapping\}|else told)/g,
  /\b(?:unreadable|overdue|gone|lostFile|answersLost)Code = '(\w+)'/g,
  /\? cause\.code : '(\w+)'/g,
  /\bnew Problem\(\s*\d+,\s*'(\w+)'/g,
  /\breturn body\(\w+, '(\w+)'/g,
]

/** Types that list codes as a union of literals. */
const unions =
  /(?:readonly code:|type HttpErrorCode =|type ActionRefusedCode =|type ReaderErrorCode =)((?:\s*(?:\/\*\*[^\n]*\*\/\s*)?\|?\s*'\w+')+)/g

describe('docs/errors.md', () => {
  const sandboxAnswers = section(page, 'What the sandbox answers')
  const reasonsToWithhold = section(page, 'Why nothing was removed')
  const reasonsToLeaveOut = section(page, 'Why a part of a page was left out')
  const reasonsNotRenewed = section(page, 'Why a part was not renewed')
  const reasonsForCare = section(page, 'Why a page was loaded with care')
  const reasonsToWait = section(page, 'What parked rows wait for')

  test('lists exactly the error and outcome codes that the program writes', () => {
    const listed = firstCells(
      without(
        page.text,
        sandboxAnswers,
        reasonsToWithhold,
        reasonsToLeaveOut,
        reasonsNotRenewed,
        reasonsForCare,
        reasonsToWait,
      ),
    )
    const found = ours.filter(({ path }) => !path.startsWith('src/sandbox/')).flatMap(codesOf)
    const ofSandbox = ours
      .filter(({ path }) => path.startsWith('src/sandbox/'))
      .flatMap(({ text }) => all(text, /\breadonly code = '(\w+)'/g))
    expect(sorted(listed)).toEqual(sorted([...found, ...ofSandbox, ...taskOutcomes()]))
  })

  test('lists exactly the reasons for which a search proves nothing', () => {
    const found = [
      union(the('src/pipeline/pull/search/whole-search.ts').text, 'WithheldReason'),
      union(the('src/pipeline/pull/documents/document-searches.ts').text, 'DocumentsWithheldReason'),
    ]
    expect(found.filter((reasons) => reasons.length === 0)).toEqual([])
    expect(sorted(firstCells(reasonsToWithhold))).toEqual(sorted(found.flat()))
  })

  test('lists exactly the reasons for which a part is not renewed, beside those for which one is left out', () => {
    const found = ours
      .filter(({ path }) => /^src\/pipeline\/pull\/(merge|documents|removals)\//.test(path))
      .flatMap(({ text }) =>
        all(
          text,
          /(?:reason = |then |else |reason: |\? )'(too_few_\w+|property_left_out|unidentified_\w+|on_many_pages|restored)'/g,
        ),
      )
    const ofSearch = union(the('src/pipeline/pull/search/whole-search.ts').text, 'WithheldReason')
    const alsoOfPages = ofSearch.filter((reason) => reason.startsWith('too_few_'))
    expect(sorted(firstCells(reasonsNotRenewed))).toEqual(sorted([...found, ...alsoOfPages]))
  })

  test('lists exactly the reasons for which a page is loaded with care', () => {
    const found = [
      ...all(the('src/pipeline/pull/fast/needs-care.ts').text, /select '(\w+)' (?:as trouble )?where exists/g),
      ...all(the('src/pipeline/pull/fast/needs-care.ts').text, /'\w{5}': '(\w+)'/g),
      ...ours.flatMap(({ text }) => all(text, /new NeedsCare\('(\w+)'\)/g)),
    ]
    expect(found.length).toBeGreaterThan(5)
    expect(sorted(firstCells(reasonsForCare))).toEqual(sorted(found))
  })

  test('lists exactly what parked rows can wait for', () => {
    const states = union(the('src/db/ledger/parked-reason.ts').text, 'RequirementState')
    expect(states).not.toEqual([])
    expect(sorted(firstCells(reasonsToWait))).toEqual(sorted(states.map((state) => `requires_${state}`)))
  })

  test('lists exactly the reasons for which a part of a page is left out', () => {
    const units = ['variable_name', 'property_name']
    const decoded = ours
      .filter(({ path }) => /^src\/pipeline\/(pull|reading)\/page-(company|text)\.ts$/.test(path))
      .flatMap(({ text }) => [...literals(text).filter((word) => word.includes('_')), ...union(text, 'TextProblem')])
    const assembled = union(the('src/pipeline/pull/documents/document-assembler.ts').text, 'DocumentProblem')
    expect(assembled).toContain('number_too_long')
    const merged = ours
      .filter(({ path }) => /^src\/pipeline\/pull\/(merge|documents|removals)\//.test(path))
      .flatMap(({ text }) => all(text, /'(\w+)',\s+(?:(?:coalesce\()?left\((?:to_json|s\.document)|'')/g))
    expect(merged).toContain('calculator_twice')
    const found = [...decoded, ...assembled, ...merged].filter((word) => !units.includes(word))
    expect(sorted(firstCells(reasonsToLeaveOut))).toEqual(sorted(found))
  })

  test('lists exactly the codes and reasons that the sandbox answers', () => {
    const found = ours
      .filter(({ path }) => path.startsWith('src/sandbox/'))
      .flatMap(({ text }) => [
        ...all(text, /RequestRefused\(\s*\d{3},\s*'(\w+)'/g),
        ...all(text, /status: \d{3}, code: '(\w+)'/g),
        ...all(text, /errorCode\]: '(\w+)'/g),
        ...all(text, /\breason: '(\w+)'/g),
        ...all(text, /\b(?:wrong|failed)\(\s*'(\w+)'/g),
        ...all(text, /\bcode = .*\? '(\w+)' : '\w+'/g),
        ...all(text, /\bcode = .*\? '\w+' : '(\w+)'/g),
      ])
    expect(sorted(firstCells(sandboxAnswers))).toEqual(sorted(found))
  })

  test('gives every errorCode of the sandbox the status that it is answered with', () => {
    const listed = new Map(
      [...sandboxAnswers.matchAll(/^\| `(\w+)` +\| (\d{3}) /gm)].map(([, code, status]) => [code, status]),
    )
    const answered = ours
      .filter(({ path }) => path.startsWith('src/sandbox/'))
      .flatMap(({ text }) => [...text.matchAll(/RequestRefused\(\s*(\d{3}),\s*'(\w+)'/g)])
      .filter(([, , code]) => listed.has(code))
    expect(answered.length).toBeGreaterThan(20)
    expect(answered.filter(([, status, code]) => listed.get(code) !== status).map(([text]) => text)).toEqual([])
  })
})

test('a code is found in each of the ways in which sources write one', () => {
  const text = [
    "readonly code = 'one'",
    "throw new StopRun('two', `message`)",
    "throw new StopRun(\n  search.error_code ?? 'three',",
    "export type HttpErrorCode =\n  | 'four'\n  | 'five'",
    "error_code: 'six'",
    "sameOutcome(trx, id, 'unknown', 'seven', reason)",
    "set outcome = null, outcome_code = 'eight',",
  ].join('\n')
  expect(sorted(codesOf({ path: 'any', text }))).toEqual([
    'eight',
    'five',
    'four',
    'one',
    'seven',
    'six',
    'three',
    'two',
  ])
})

function codesOf({ text }: Page): string[] {
  return [
    ...spellings.flatMap((spelling) => all(text, spelling)),
    ...[...text.matchAll(unions)].flatMap((match) => literals(match[1] ?? '')),
    ...all(text, /: `(internal_error): \$/g),
  ]
}

/** Codes made of the status of a task that failed: `task_` and the status in lower case. */
function taskOutcomes(): string[] {
  const spelled = ours.filter(({ text }) => /`task_\$\{task\.status\.toLowerCase\(\)\}`/.test(text))
  expect(spelled.length).toBeGreaterThan(0)
  const { error, cancelled } = contract.taskStatuses
  return [error, cancelled].map((status) => `task_${status.toLowerCase()}`)
}

function the(path: string): Page {
  const found = ours.find((source) => source.path === path)
  if (found === undefined) throw new Error(`${path} is gone; say here where its codes are now`)
  return found
}

function union(text: string, type: string): string[] {
  return literals(new RegExp(`type ${type} =((?:\\s*\\|?\\s*'\\w+')+)`).exec(text)?.[1] ?? '')
}

function literals(text: string): string[] {
  return all(text, /'([a-z]+(?:_[a-z]+)*)'/g)
}

function all(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].flatMap((match) => match[1] ?? [])
}

function without(text: string, ...parts: string[]): string {
  return parts.reduce((rest, part) => rest.replace(part, ''), text)
}

function sorted(words: readonly string[]): string[] {
  return [...new Set(words)].sort()
}
