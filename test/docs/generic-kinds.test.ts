import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { settings } from '../../src/config/schema.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { checkTemplateRow } from '../../src/pipeline/preflight/fill-template.ts'
import { kindOf } from '../../src/pipeline/push/kinds.ts'
import { shapeOf } from '../../src/pipeline/streams/our-streams.ts'
import { commentedKinds, contractFileWithText } from '../helpers/contract-file.ts'
import { some } from '../helpers/some.ts'
import { bodyOf } from '../pipeline/push/generic/kinds.ts'
import { readPage } from './pages.ts'

const { text } = readPage('docs/generic-kinds.md')
const blocks = (language: string) =>
  [...text.matchAll(/```(\w+)\n([\s\S]*?)```/g)].flatMap(([, of, code = '']) => (of === language ? [code] : []))
const [described = '', configured = ''] = blocks('yaml')
const [body = '', file = ''] = blocks('json')

const rows = [
  ['H-0001', { scheme: 'Fairwood', supplier: 'Holz & Söhne', score: '87.5', audited: 'true' }],
  ['H-0001', { scheme: 'Cleanwash', audited: 'false', details: '{"stages":[1,2]}' }],
  ['H-0002', { scheme: 'Fairwood', score: '40', audited: 'true' }],
] as const

test('the kind that docs/generic-kinds.md shows is that of the comments in config/contract.yaml', () => {
  const shown = loadContract(contractFileWithText(described)).kinds
  expect(shown).toHaveLength(1)
  expect(shown).toEqual(loadContract(contractFileWithText(commentedKinds())).kinds)
})

test('the stream that docs/generic-kinds.md shows yields the columns of its kind', () => {
  const { streams } = settings.parse(parse(configured))
  const contract = loadContract(contractFileWithText(described))
  for (const [name, stream] of some(Object.entries(streams))) {
    for (const column of some(shapeOf(contract, name).columns))
      expect(stream?.query).toMatch(new RegExp(`\\b${column}\\b`))
  }
  expect(Object.keys(streams)).toEqual(['supplier_certificates'])
})

test('the body that docs/generic-kinds.md shows is what the template makes of its rows', () => {
  const contract = loadContract(contractFileWithText(described))
  const [kind] = contract.kinds
  if (kind === undefined) throw new Error('the page describes no kind')
  for (const [partnerId, content] of some(rows))
    expect(checkTemplateRow(contract, kind.stream, partnerId, content)).toBeNull()
  expect(JSON.parse(bodyOf(kind, rows))).toEqual(JSON.parse(body))
})

test('the result file that docs/generic-kinds.md shows is read as the page says', () => {
  const contract = loadContract(contractFileWithText(described))
  const { outcomes } = kindOf(contract, 'supplier_certificates')
  if (outcomes === 'error_rows') throw new Error('the page shows a result file')
  const elements = (JSON.parse(file) as Record<string, unknown[]>)[outcomes.list(contract)] ?? []
  expect(elements.map((element) => outcomes.read(contract, element))).toMatchObject([
    { partnerId: 'H-0001', accepted: true, code: null },
    { partnerId: 'H-0002', accepted: false, code: 'Refused', reason: 'The score is below 50.' },
  ])
})
