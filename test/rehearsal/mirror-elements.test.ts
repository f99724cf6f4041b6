import { expect, it } from 'vitest'
import { holderPart, standardOf } from '../../src/rehearsal/mirror/mirror-elements.ts'
import { worldCompany, worldHead } from '../../src/world/world-form.ts'
import { contract } from '../sandbox/open-sandbox.ts'

const id = 'aaaaaaaa-0000-4000-8000-000000000000'

it.each([
  ['2025-02-28T00:00:00Z', '2025-02-28'],
  ['0001-01-01', '0001-01-01'],
  ['2025-02-30', null],
  ['0000-01-01', null],
  ['28.02.2025', null],
  [null, null],
])('the day %j of a standard is mirrored as %j, which a world file may hold', (startDate, expected) => {
  const names = contract.names.standardHoldersPage
  const element = { [names.companyId]: id, [names.standardId]: id, [names.startDate]: startDate }
  const part = holderPart(contract, element)
  expect(part?.standards?.map((standard) => standard.startDate)).toEqual([expected])
  expect(worldCompany.safeParse({ name: '', ...part }).success).toBe(true)
})

it('a day in the year zero is refused by the form of a world file, since Postgres has none', () => {
  const standards = [{ standardId: id, startDate: '0000-12-31' }]
  expect(worldCompany.safeParse({ id, name: '', standards }).error?.issues[0]?.path).toEqual([
    'standards',
    0,
    'startDate',
  ])
})

it('the levels of a standard are mirrored without empty ones, which a world file may not hold', () => {
  const names = contract.names.standardsPage
  const standard = standardOf(contract, { [names.id]: id, [names.title]: 'S', [names.levels]: ['', 'Gold', 7] })
  expect(standard?.levels).toEqual(['Gold'])
  expect(worldHead.shape.standards.safeParse([standard]).success).toBe(true)
})
