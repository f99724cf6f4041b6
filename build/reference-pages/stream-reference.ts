import { streamNames } from '../../src/config/known-names.ts'
import { streams } from '../../src/pipeline/streams/our-streams.ts'
import { blocks, code, table } from './markdown.ts'

/** Every stream with its columns, as it stands in docs/streams.md. */
export function streamReference(): string {
  return blocks(
    streamNames.map((name) => {
      const { about, columns, notes = [] } = streams[name]
      const rows = Object.entries(columns).map(([column, meaning]) => [code(column), meaning])
      return blocks([`## ${code(name)}`, about, table(['Column', 'Meaning'], rows), ...notes])
    }),
  )
}
