import { describe, expect, it } from 'vitest'
import { copyLine } from '../../src/db/copy-text.ts'

describe('copyLine', () => {
  it('tells null from every text that looks like it', () => {
    expect(copyLine([null, '', '\\N', 'null'])).toBe('\\N\t\t\\\\N\tnull\n')
  })

  it('escapes what separates fields and rows, and nothing else', () => {
    expect(copyLine(['a\tb\nc\rd\\e', 'f\bg\vh', 1, true])).toBe('a\\tb\\nc\\rd\\\\e\tf\bg\vh\t1\ttrue\n')
  })
})
