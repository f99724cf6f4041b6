import { readPage } from './pages.ts'

export type Entity = { name: string; columns: { name: string; type: string }[] }

/** A line between two entities: rows of `many` name a row of `one` by columns that both have. */
export type Relation = { one: string; many: string; columns: string[]; optional: boolean }

export type EntityPicture = { entities: Entity[]; relations: Relation[] }

/** Reads the Mermaid diagram of docs/tables.md; what it cannot read it throws at, so that nothing goes unchecked. */
export function entityPicture(text = readPage('docs/tables.md').text): EntityPicture {
  const diagram = /```mermaid\nerDiagram\n([\s\S]*?)```/.exec(text)?.[1]
  if (diagram === undefined) throw new Error('docs/tables.md has no erDiagram')
  const entities: Entity[] = []
  const relations: Relation[] = []
  let open: Entity | null = null
  for (const line of diagram.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const begins = /^(\w+) \{$/.exec(line)
    const attribute = /^(\w+) (\w+)(?: (?:PK|FK|UK)(?:, (?:PK|FK|UK))*)?$/.exec(line)
    const relation = /^(\w+) (\|\||\|o)--o\{ (\w+) : "([\w, ]+)"$/.exec(line)
    if (open !== null && line === '}') open = null
    else if (open !== null && attribute !== null) {
      open.columns.push({ type: attribute[1] ?? '', name: attribute[2] ?? '' })
    } else if (open === null && begins !== null) {
      open = { name: begins[1] ?? '', columns: [] }
      entities.push(open)
    } else if (open === null && relation !== null) {
      const [, one = '', mark, many = '', columns = ''] = relation
      relations.push({ one, many, columns: columns.split(', '), optional: mark === '|o' })
    } else throw new Error(`The entity picture has a line that nobody can read: ${line}`)
  }
  return { entities, relations }
}
