import { expect, test } from 'vitest'
import { markdownPages } from './pages.ts'

test('every heading of a page stands between blank lines, and every command line in a block of code', () => {
  expect(markdownPages().flatMap(({ path, text }) => misplaced(text).map((line) => `${path}: ${line}`))).toEqual([])
})

test('the check sees what stands wrongly', () => {
  expect(misplaced('# A\n\ntext\n## B\n\ntext\n')).toEqual(['## B'])
  expect(misplaced('# A\ntext\n')).toEqual(['# A'])
  expect(misplaced('# A\n\nnightferry status   # how it stands\n')).toEqual(['nightferry status   # how it stands'])
  expect(misplaced('# A\n\n```sh\n# a remark\nnightferry status\n```\n')).toEqual([])
})

function misplaced(text: string): string[] {
  const lines = text.replaceAll(/^```[\s\S]*?^```/gm, (block) => block.replaceAll(/[^\n]/g, '')).split('\n')
  return lines.filter((line, at) => {
    const alone = (lines[at - 1] ?? '') === '' && (lines[at + 1] ?? '') === ''
    return (/^#+ /.test(line) && !alone) || /^nightferry /.test(line)
  })
}
