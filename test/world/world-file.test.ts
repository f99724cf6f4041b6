import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWorldFile, saveWorldFile } from '../../src/world/world-file.ts'
import { type WorldCompany, worldCompany, worldHead } from '../../src/world/world-form.ts'
import { workingFolder } from '../cli/nightferry-process.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'

const [group, property, type, company] = ['1', '2', '3', '4'].map(
  (digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`,
)
const head = worldHead.parse({
  world: 1,
  profiles: [{ id: 1, name: 'Us' }],
  groups: [{ id: group, name: 'All', profileId: 1 }],
  customProperties: [{ id: property, name: 'Our id', type: 'String', isIdentifier: true, profileId: 1 }],
  calculatorTypes: [{ id: type, title: 'Footprint' }],
})
const hotel = (number: number): WorldCompany =>
  worldCompany.parse({
    id: company?.replace(/\d{4}$/, String(number).padStart(4, '0')),
    name: `Hotel Ærø\u2028 ${number}`,
    groups: [group],
    properties: { [property ?? '']: [`H-${number}`] },
  })

async function* hotels(count: number): AsyncGenerator<WorldCompany> {
  for (let number = 1; number <= count; number += 1) yield hotel(number)
}

const folder = await ofThisFile(workingFolder())

async function companiesOf(file: string): Promise<WorldCompany[]> {
  const companies: WorldCompany[] = []
  for await (const company of (await openWorldFile(file)).companies()) companies.push(company)
  return companies
}

async function written(name: string, lines: unknown[]): Promise<string> {
  const file = join(folder.path, name)
  await writeFile(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'))
  return file
}

describe('a world file', () => {
  it('reads back as it was written, in lines that only its owner may read', async () => {
    const file = join(folder.path, 'whole.world')
    const { companies, bytes } = await saveWorldFile(file, head, hotels(3))
    expect({ companies, bytes }).toEqual({ companies: 3, bytes: (await readFile(file)).length })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await openWorldFile(file)).head).toEqual(head)
    expect(await companiesOf(file)).toEqual([hotel(1), hotel(2), hotel(3)])
  })

  it('a world file is not there at all if the companies end in an error, and what was there before is', async () => {
    const file = join(folder.path, 'kept.world')
    await saveWorldFile(file, head, hotels(1))
    const failing = (async function* () {
      yield hotel(1)
      throw new Error('the service went away')
    })()
    await expect(saveWorldFile(file, head, failing)).rejects.toThrow('the service went away')
    expect(await companiesOf(file)).toEqual([hotel(1)])
    expect((await readdir(folder.path)).filter((name) => name.includes('partial'))).toEqual([])
  })

  it('says that it cannot be written where there is no folder', async () => {
    const file = join(folder.path, 'nowhere', 'a.world')
    await expect(saveWorldFile(file, head, hotels(1))).rejects.toMatchObject({ code: 'world_file_not_written' })
  })

  it('has another digest as soon as a byte of it changes', async () => {
    const one = await written('one.world', [head, hotel(1)])
    const other = await written('other.world', [head, { ...hotel(1), name: 'Hotel Als' }])
    expect((await openWorldFile(one)).digest).not.toBe((await openWorldFile(other)).digest)
  })

  it.each<[string, unknown[], RegExp]>([
    ['a first line that is no JSON', ['{'], /line 1: the line is no JSON/],
    ['another form', [{ ...head, world: 2 }], /line 1: world: /],
    ['a member that nobody knows', [{ ...head, hotels: [] }], /line 1: .*hotels/],
    [
      'a group of no profile',
      [{ ...head, groups: [{ id: group, name: 'All', profileId: 9 }] }],
      /there is no profile 9/,
    ],
    ['a group twice', [{ ...head, groups: [...head.groups, ...head.groups] }], /groups: .* stands twice/],
  ])('a world file is refused with %s', async (_, lines, words) => {
    const file = await written('wrong.world', lines)
    await expect(openWorldFile(file)).rejects.toMatchObject({
      code: 'world_file_invalid',
      message: expect.stringMatching(words),
    })
  })

  it.each<[string, unknown, RegExp]>([
    ['without an id', { name: 'Nobody' }, /line 3: id: /],
    ['in a group that is not there', { ...hotel(2), groups: [company] }, /line 3: there is no group/],
    ['cut short', '{"id":', /line 3: the line is no JSON/],
  ])('a world file is refused at a company %s, by the number of its line', async (_, line, words) => {
    const file = await written('wrong-company.world', [head, hotel(1), line])
    await expect(companiesOf(file)).rejects.toMatchObject({
      code: 'world_file_invalid',
      message: expect.stringMatching(words),
    })
  })

  it('says that it cannot be read where there is none', async () => {
    await expect(openWorldFile(join(folder.path, 'none.world'))).rejects.toMatchObject({
      code: 'world_file_unreadable',
    })
  })
})
