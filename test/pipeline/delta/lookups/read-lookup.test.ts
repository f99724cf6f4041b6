import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { settings } from '../../../../src/config/schema.ts'
import { type Lookup, readLookup } from '../../../../src/pipeline/delta/lookups/read-lookup.ts'
import { temporaryFile } from '../../../config/temporary-file.ts'

const configOf = (file: string, more: object = {}) => {
  const config = settings.parse({ lookups: { meters: { file, ...more } } }).lookups.meters
  if (config === undefined) throw new Error('the lookup was configured')
  return config
}
const read = async (text: string | Buffer, more: object = {}): Promise<Lookup> => {
  const file = temporaryFile('')
  writeFileSync(file, text)
  return await readLookup('meters', configOf(file, more))
}
const refusal = async (text: string | Buffer, more: object = {}) => {
  const { code, message } = await read(text, more).then(
    () => ({ code: null, message: '' }),
    (error: Error & { code: string }) => error,
  )
  return { code, message: message.replace(/The lookup meters cannot be used: \S+/, 'FILE') }
}

test('a lookup has the codes of its file with their ids, by the names of its columns', async () => {
  const { ids, name } = await read('﻿note,meter,field\r\n,"M,1",f-1\r\nx,M2,"f-2"\r\n', { code: 'meter', id: 'field' })
  expect(name).toBe('meters')
  expect([...ids]).toEqual([
    ['M,1', 'f-1'],
    ['M2', 'f-2'],
  ])
})

test('the digest of a lookup tells other codes and ids, and not the order of lines', async () => {
  const digest = async (text: string) => (await read(text)).digest
  const one = await digest('code,id\na,1\nb,2\n')
  expect(await digest('id,code\r\n2,b\r\n1,a')).toBe(one)
  expect(await digest('code,id\na,2\nb,1\n')).not.toBe(one)
  expect(await digest('code,id\na,1\n')).not.toBe(one)
})

test('a code that stands in the file of a lookup twice is refused with both lines, also with the same id', async () => {
  expect(await refusal('code,id\na,1\nb,2\na,1\nb,3\n')).toEqual({
    code: 'lookup_unusable',
    message:
      "FILE has to be fixed\n  line 4: the code 'a' stands in line 2 already\n  line 5: the code 'b' stands in line 3 already",
  })
})

test.each<[string, string | Buffer, object, string]>([
  ['that is empty', '', {}, 'FILE has to be fixed\n  it is empty'],
  ['without a code', 'code,id\n', {}, 'FILE has to be fixed\n  it has no code: nothing stands below the line of names'],
  ['without a column', 'kode,id\na,1', {}, 'there is no column code; there are kode, id'],
  ['with a column twice', 'code,id,id\na,1,2', {}, 'the column id stands there 2 times'],
  ['with another separator', 'code;id\na;1', {}, 'there are code;id; set separator: ";" if its cells end there'],
  ['with a cell too many', 'code,id\na,1,2', {}, 'line 2: it has 3 cells, and the line of names has 2'],
  ['with an empty id', 'code,id\na,""', {}, 'line 2: id is empty'],
  ['with an empty code', 'code,id\n,1', {}, 'line 2: code is empty'],
  ['with a control character', 'code,id\na,\u0007', {}, 'line 2: id holds the control character U+0007'],
  ['in another encoding', Buffer.from('code,id\nZ\xfcrich,1', 'latin1'), {}, 'FILE is not in UTF-8'],
])('a lookup is refused whose file is one %s', async (_, text, more, words) => {
  const { code, message } = await refusal(text, more)
  expect(code).toBe('lookup_unusable')
  expect(message).toContain(words)
})

test('ten faults of the file of a lookup are told, and that there are more', async () => {
  const rows = (count: number) => Array.from({ length: count }, (_, at) => `c${at},1,2`)
  const told = async (lines: string[]) => (await refusal(lines.join('\n'))).message.split('\n').slice(1)
  const ten = Array.from({ length: 10 }, (_, at) => `  line ${at + 2}: it has 3 cells, and the line of names has 2`)
  expect(await told(['code,id', ...rows(10)])).toEqual(ten)
  expect(await told(['code,id', ...rows(100_000)])).toEqual([...ten, '  and more'])
})

test('twenty columns of the file of a lookup are named where the one wanted is not there, and how many more there are', async () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `c${at}`)
  const { message } = await refusal([...names, 'id'].join(','))
  expect(message).toBe(
    `FILE has to be fixed\n  line 1: there is no column code; there are ${names.slice(0, 20).join(', ')} and 981 more`,
  )
})

test('a lookup without its file, of a folder or a pipe, or of more bytes than it may have is refused before it is read', async () => {
  const file = temporaryFile('code,id\na,1')
  const wordsOf = (of: string) => readLookup('meters', configOf(of)).then(String, (error: Error) => error.message)
  truncateSync(file, 32 * 1024 * 1024 + 1)
  expect(await wordsOf(file)).toContain('join a table of that size in the query')
  rmSync(file)
  expect(await wordsOf(file)).toBe(`The lookup meters cannot be used: ${file} is not there.`)
  expect(await wordsOf(dirname(file))).toContain('is no file.')
  // To open it could take until somebody opens it to write, as is done at the end.
  execFileSync('mkfifo', [file])
  onTestFinished(() => closeSync(openSync(file, constants.O_RDWR)))
  expect(await wordsOf(file)).toBe(`The lookup meters cannot be used: ${file} is no file.`)
})
