import { expect, test } from 'vitest'
import { markdownPages } from './pages.ts'

test('the columns of every table stand under one another', () => {
  expect(markdownPages().flatMap(({ path, text }) => ragged(text).map((line) => `${path}: ${line}`))).toEqual([])
})

test('the check sees a row that is too wide or too narrow', () => {
  expect(ragged('| a  | b |\n| -- | - |\n| cc | d |\n')).toEqual([])
  expect(ragged('| a  | b |\n| -- | - |\n| ccc | d |\n')).toEqual(['| ccc | d |'])
  expect(ragged('| a | b |\n| - | - |\n\n| cc | d |\n| -- | - |\n')).toEqual([])
})

/** Rows of tables whose bars do not stand where those of the row above do. */
function ragged(text: string): string[] {
  const lines = text.split('\n')
  return lines.filter((line, at) => {
    const above = lines[at - 1] ?? ''
    return line.startsWith('|') && above.startsWith('|') && bars(line) !== bars(above)
  })
}

/** Where the bars stand, in characters; one within back quotes, or escaped, is none. */
function bars(line: string): string {
  const plain = line.replaceAll(/`[^`]*`|\\\|/g, (quoted) => '.'.repeat(Array.from(quoted).length))
  return Array.from(plain)
    .flatMap((character, at) => (character === '|' ? [at] : []))
    .join(' ')
}
