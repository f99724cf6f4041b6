import { readPage, section } from './pages.ts'

export type DescribedColumn = { name: string; type: string; whenNull: string; meaning: string }

/**
 * The columns that docs/tables.md lists under the heading of a view, with type, null and meaning in columns of their
 * own.
 */
export function describedColumns(view: string): DescribedColumn[] {
  const text = section(readPage('docs/tables.md'), view)
  if (!/^\| Column +\| Type +\| Null +\| +\|$/m.test(text)) return []
  return [...text.matchAll(/^\| `(\w+)` +\| (\w+) +\| (.*?) +\| (.*?) *\|$/gm)].map(
    ([, name = '', type = '', whenNull = '', meaning = '']) => ({ name, type, whenNull, meaning }),
  )
}
