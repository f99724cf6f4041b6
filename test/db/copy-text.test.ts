import { describe, expect, it } from 'vitest'
import { copyLine } from '../../src/db/copy-text.ts'

describe('copyLine', () => {
  it('tells null from every text that looks like it', () => {
    expect(copyLine([null, '', '\\N', 'null'])).toBe('\\N\t\t\\\\N\tnull\n')
  })

  it('escapes what separates fields and rows, and what PostgreSQL itself escapes, and nothing else', () => {
    const row = copyLine(['a\tb\nc\rd\\e', 'f\bg\vh\fi', 'é\u0001"', 1, true])
    expect(row).toBe('a\\tb\\nc\\rd\\\\e\tf\\bg\\vh\\fi\té\u0001"\t1\ttrue\n')
  })
})
