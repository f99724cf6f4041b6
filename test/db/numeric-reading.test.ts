import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testDatabase } from '../helpers/postgres.ts'

let client: pg.Client

beforeAll(async () => {
  const { url } = await testDatabase({ template: 'migrated' })
  client = new pg.Client({ connectionString: url, options: '-c search_path=nightferry' })
  await client.connect()
})
afterAll(() => client.end())

async function reading(text: string): Promise<string | null> {
  const { rows } = await client.query<{ number: string | null }>('select numeric_reading($1) as number', [text])
  return rows[0]?.number ?? null
}

describe('the numeric reading of a text', () => {
  it.each([
    ['0', '0'],
    ['-0', '0'],
    ['+7', '7'],
    ['-7.25', '-7.25'],
    ['.5', '0.5'],
    ['-.5', '-0.5'],
    ['007', '7'],
    ['00.10', '0.10'],
    ['1234.50', '1234.50'],
    ['0.30000000000000004', '0.30000000000000004'],
    ['9007199254740993', '9007199254740993'],
    ['1e3', '1000'],
    ['1E3', '1000'],
    ['1e+03', '1000'],
    ['2.5e-3', '0.0025'],
    ['.5e1', '5'],
    ['-1e-99', `-0.${'0'.repeat(98)}1`],
    ['0e99', '0'],
    ['9'.repeat(100), '9'.repeat(100)],
    [`0.${'1'.repeat(98)}`, `0.${'1'.repeat(98)}`],
    [`${'9'.repeat(97)}e99`, `${'9'.repeat(97)}${'0'.repeat(99)}`],
  ])('%j is %s', async (text, number) => {
    expect(await reading(text)).toBe(number)
  })

  it.each([
    ['', 'nothing'],
    ['1.', 'a point without digits after it'],
    ['.', 'a point alone'],
    ['+', 'a sign alone'],
    ['--1', 'two signs'],
    ['- 1', 'a space after the sign'],
    [' 1', 'a space before'],
    ['1 ', 'a space behind'],
    ['1\n', 'a line end behind'],
    ['1\t', 'a tab'],
    ['\u00a01', 'a no-break space'],
    ['\ufeff1', 'a byte-order mark'],
    ['1,000', 'a comma for thousands'],
    ['1.000,5', 'a comma for decimals'],
    ['1,5', 'a decimal comma'],
    ['1 000', 'a space for thousands'],
    ['1\u202f000', 'a narrow space for thousands'],
    ['1_000', 'an underscore, which PostgreSQL would take'],
    ["1'000", 'an apostrophe'],
    ['1.2.3', 'two points'],
    ['e5', 'an exponent alone'],
    ['1e', 'no exponent after e'],
    ['1e+', 'a sign and no exponent'],
    ['1e100', 'an exponent of three digits'],
    ['1e005', 'an exponent of three digits, two of them zeros'],
    ['1e1.5', 'a fraction in the exponent'],
    ['NaN', 'not a number, which PostgreSQL would take'],
    ['Infinity', 'infinite, which PostgreSQL would take'],
    ['-inf', 'infinite in short, which PostgreSQL would take'],
    ['0x1F', 'hexadecimal, which PostgreSQL would take'],
    ['0b11', 'binary, which PostgreSQL would take'],
    ['0o17', 'octal, which PostgreSQL would take'],
    ['12%', 'a per cent sign'],
    ['€5', 'a currency sign'],
    ['12 kWh', 'a unit'],
    ['(5)', 'brackets'],
    ['−5', 'the minus sign of typography'],
    ['١٢٣', 'Arabic digits'],
    ['１２', 'full-width digits'],
    ['½', 'a fraction'],
    ['²', 'a superscript'],
    ['1\u0660', 'an Arabic nought behind'],
    ['9'.repeat(101), '101 characters'],
    [`${'9'.repeat(98)}e99`, '101 characters with an exponent'],
    ['true', 'a word'],
  ])('%j is none: %s', async (text) => {
    expect(await reading(text)).toBeNull()
  })

  it('the numeric reading of a text is none of null', async () => {
    const { rows } = await client.query('select numeric_reading(null) as number')
    expect(rows).toEqual([{ number: null }])
  })

  it('never fails, whatever stands there', async () => {
    const parts = ['', '+', '-', '.', '0', '9', '99999', 'e', 'E', 'e99', 'e-99', 'x', ' ', '_', ',', '٣', 'NaN', '\n']
    const texts = parts.flatMap((a) => parts.flatMap((b) => parts.map((c) => `${a}${b}${c}`)))
    const { rows } = await client.query<{ read: string; numbers: string }>(
      'select count(*) as read, count(numeric_reading(text)) as numbers from unnest($1::text[]) text',
      [texts],
    )
    expect(Number(rows[0]?.read)).toBe(texts.length)
    const expected = texts.filter((text) => /^[-+]?(\d+(\.\d+)?|\.\d+)([eE][-+]?\d{1,2})?$/.test(text)).length
    expect(Number(rows[0]?.numbers)).toBe(expected)
    expect(expected).toBeGreaterThan(100)
  })
})
