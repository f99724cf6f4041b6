import { createHash } from 'node:crypto'
import type { DeltaRows } from '../../partner/dialect.ts'
import type { JudgeRow } from '../preflight/preflight.ts'
import { type LandingRow, maxPartnerIdLength, type PartnerRow } from '../streams/rules/row-content.ts'
import type { PartsShape, StreamShape } from '../streams/stream.ts'
import { type DirectRow, RowNeedsCare } from './landing/land-directly.ts'
import { stagedLine } from './landing/stage-rows.ts'

/** What was seen of a delta on its way. */
export type Seen = {
  rows: number
  /** Rows that were merged into the one before them on their way: parts of the same ledger row. */
  folded: number
  nullCursors: number
  /** The last cursor, as far as it may move the watermark, and the key of the row that carries it. */
  newestCursor: string | null
  /** That cursor itself, which may lie further ahead. */
  newestItself: string | null
  newestKey: string | null
  /** The last cursor that may move the watermark as it is. */
  newestReached: string | null
  /** The row to look out for, and the last cursor itself that rows with its key had: undefined while none was met. */
  witness: string | null
  witnessCursor: string | null | undefined
}

/** Nothing seen yet. */
export function nothingSeen(witness: string | null = null): Seen {
  const newest = { newestCursor: null, newestItself: null, newestKey: null, newestReached: null }
  return { rows: 0, folded: 0, nullCursors: 0, ...newest, witness, witnessCursor: undefined }
}

type Walk = {
  shape: StreamShape
  seen: Seen
  /** Whether rows come in any order: then nobody can say which of two that say one thing is newer. */
  inAnyOrder?: boolean
  /** Rows of other hotels are left out. */
  only?: ReadonlySet<string>
}

type Staging = Walk & { judge: JudgeRow }

type DirectWalk = Staging & {
  /** Whether the rows are those of a snapshot, which has no cursor. */
  withoutCursor?: boolean
}

/** A row of a delta, as far as it is whole, of how many partner rows, and where it stands among the others. */
type WalkedRow = LandingRow & {
  ordinal: number
  /** The ordinals of parts that came later than the first. */
  later: Map<string, number> | null
  withoutCursor: boolean
  parts: number
}

/**
 * Rows of a delta. Notes the newest cursor on the way, which the order of the delta makes the last one. Rows with equal
 * cursors share an ordinal. Parts of one ledger row that come one after the other, as those do which were stored
 * together, are merged here: each row less is one less to store, sort and merge. One that says something else of a part
 * while nothing says which is newer is left by itself.
 */
async function* walkedRows(batches: DeltaRows, { shape, seen, inAnyOrder, only }: Walk): AsyncGenerator<WalkedRow[]> {
  const { columns } = shape
  const parts = shape.parts === undefined ? null : new RowParts(columns, shape.parts)
  let ordinal = 0
  let before: string | null = null
  let begun: WalkedRow | null = null
  const add = (row: WalkedRow, known: Record<string, unknown>, name: string, value: unknown): boolean => {
    if (Object.hasOwn(known, name)) {
      if (inAnyOrder) throw new RowNeedsCare('repeated_key')
      if ((row.later?.get(name) ?? row.ordinal) === ordinal && known[name] !== value) return false
    }
    known[name] = value
    if (!inAnyOrder && ordinal !== row.ordinal) {
      row.later ??= new Map()
      row.later.set(name, ordinal)
    }
    return true
  }
  const addAll = (row: WalkedRow, known: Record<string, unknown>, more: Record<string, unknown>): boolean =>
    Object.entries(more).every(([name, value]) => add(row, known, name, value))
  for await (const batch of batches) {
    const walked: WalkedRow[] = []
    for (const values of batch) {
      const further: WalkedRow | null = parts?.isFurther(values) ? begun : null
      const row: LandingRow = further ?? landingOf(shape, values)
      if (only?.has(row.partnerId) === false) continue
      seen.rows += 1
      const cursor = values[columns.length] ?? null
      const itself = values[columns.length + 1] ?? null
      const at = itself ?? cursor
      if (cursor === null) seen.nullCursors += 1
      else {
        seen.newestCursor = cursor
        seen.newestItself = at
        seen.newestKey = row.rowKey
        if (itself === null) seen.newestReached = cursor
      }
      if (row.rowKey === seen.witness) seen.witnessCursor = at
      if (at !== before) ordinal += 1
      before = at
      const withoutCursor = cursor === null
      if (parts === null) {
        walked.push({
          partnerId: row.partnerId,
          rowKey: row.rowKey,
          content: row.content,
          ordinal,
          later: null,
          withoutCursor,
          parts: 1,
        })
        continue
      }
      if (begun !== null && begun.rowKey === row.rowKey) {
        const known = begun.content[parts.key] as Record<string, unknown>
        const more = row.content[parts.key] as Record<string, unknown>
        const added: boolean =
          further === null ? addAll(begun, known, more) : add(begun, known, parts.nameOf(values), parts.valueOf(values))
        if (added) {
          begun.withoutCursor ||= withoutCursor
          begun.parts += 1
          seen.folded += 1
          continue
        }
      }
      if (begun !== null) walked.push(begun)
      const { partnerId, rowKey, content }: LandingRow = further === null ? row : landingOf(shape, values)
      begun = { partnerId, rowKey, content, ordinal, later: null, withoutCursor, parts: 1 }
      parts.begin(values)
    }
    if (walked.length > 0) yield walked
  }
  if (begun !== null) yield [begun]
}

/** Rows of a delta as lines for the stage. Of one that may be a part nobody can say yet whether it is right. */
export async function* stagedLines(batches: DeltaRows, { judge, ...walk }: Staging): AsyncGenerator<string> {
  const folds = walk.shape.parts !== undefined
  for await (const rows of walkedRows(batches, walk)) {
    let lines = ''
    for (const row of rows) lines += stagedLine({ ...row, reason: folds ? undefined : judge(row) })
    yield lines
  }
}

/**
 * The same rows, for a ledger that has none of them yet: each is a whole, and what is null of it was never said.
 * @throws {RowNeedsCare} at a row without the cursor that it should have, which is kept by name; in any order also at a
 *   part that comes twice.
 */
export async function* directRows(
  batches: DeltaRows,
  { judge, withoutCursor = false, ...walk }: DirectWalk,
): AsyncGenerator<DirectRow[]> {
  const foldedKey = walk.shape.parts?.key
  for await (const rows of walkedRows(batches, walk)) {
    yield rows.map((row) => {
      if (row.withoutCursor && !withoutCursor) throw new RowNeedsCare('without_cursor')
      if (foldedKey !== undefined) dropNulls(row.content[foldedKey] as Record<string, unknown>)
      const { partnerId, rowKey, content, parts } = row
      return { partnerId, rowKey, parts, text: jsonbText(content as Record<string, JsonbValue>), reason: judge(row) }
    })
  }
}

function dropNulls(parts: Record<string, unknown>): void {
  for (const name of Object.keys(parts)) if (parts[name] === null) delete parts[name]
}

/** The ledger row that a partner row's values describe, with keys as they can be stored. */
export function landingOf({ columns, toRow }: StreamShape, values: readonly (string | null)[]): LandingRow {
  const row: PartnerRow = {}
  for (const [index, column] of columns.entries()) row[column] = values[index] ?? null
  const { partnerId, rowKey, content } = toRow(row, row.partner_id ?? '')
  return { partnerId: indexable(partnerId), rowKey: indexable(rowKey), content }
}

/** Bytes of a key that an index of Postgres surely takes; its limit is about 2,700 for the columns together. */
const maxKeyBytes = 1_000

/** A key as it can be stored: of an absurdly long one the beginning and a digest. Preflight refuses it. */
function indexable(text: string): string {
  // A character is three bytes at most.
  if (text.length * 3 <= maxKeyBytes || Buffer.byteLength(text) <= maxKeyBytes) return text
  return `${text.slice(0, maxPartnerIdLength + 1)}…${createHash('sha256').update(text).digest('hex')}`
}

type PartnerValues = readonly (string | null)[]

/**
 * Tells which partner rows are further parts of the ledger row that another one began. They agree in all columns but
 * those that are a part's own, so nothing else of them need be read: most rows of such a stream are of that sort.
 */
class RowParts {
  /** Where in the content parts stand. */
  readonly key: PartsShape['key']
  readonly #name: number
  readonly #value: number
  readonly #common: readonly number[]
  readonly #isName: PartsShape['isName']
  #first: PartnerValues | null = null

  constructor(columns: readonly string[], { key, name, value, isName }: PartsShape) {
    this.key = key
    this.#name = columns.indexOf(name)
    this.#value = columns.indexOf(value)
    this.#common = columns.flatMap((column, at) => (column === name || column === value ? [] : [at]))
    this.#isName = isName
  }

  /** A ledger row begins with this partner row. */
  begin(values: PartnerValues): void {
    this.#first = this.#isName(values[this.#name]) ? values : null
  }

  /** Whether this partner row is a further part of what was begun. */
  isFurther(values: PartnerValues): boolean {
    const first = this.#first
    if (first === null || !this.#isName(values[this.#name])) return false
    return this.#common.every((at) => values[at] === first[at])
  }

  nameOf(values: PartnerValues): string {
    return values[this.#name] ?? ''
  }

  valueOf(values: PartnerValues): string | null {
    return values[this.#value] ?? null
  }
}

/** What a ledger row's content is made of: texts as the partner's server printed them, and members within members. */
export type JsonbValue = string | null | { readonly [member: string]: JsonbValue }

/**
 * A value as the server writes it when it is `jsonb`: members by the length of their names in bytes, then by the bytes,
 * and a space after each colon and comma. Equal contents have equal texts, whichever of the two wrote them; the hash of
 * a ledger row's content is taken over this text. Pure.
 */
export function jsonbText(value: JsonbValue): string {
  if (value === null || typeof value === 'string') return JSON.stringify(value)
  const { sorted, written } = membersOf(Object.keys(value))
  let text = '{'
  for (let index = 0; index < sorted.length; index++) {
    text += written[index] + jsonbText(value[sorted[index] ?? ''] ?? null)
  }
  return `${text}}`
}

/** Names of members in the server's order, and what it writes before the value of each. */
type Members = { names: readonly string[]; sorted: readonly string[]; written: readonly string[] }

/** The members met last, by how many they are: sorting takes long, and rows of a stream mostly have the same. */
const metLast: Members[] = []

function membersOf(names: readonly string[]): Members {
  const met = metLast[names.length]
  if (met?.names.every((name, index) => name === names[index])) return met
  const sorted = names.toSorted(byLengthAndBytes)
  const written = sorted.map((name, index) => `${index === 0 ? '' : ', '}${JSON.stringify(name)}: `)
  const members = { names, sorted, written }
  if (names.length <= mostMembersKept) metLast[names.length] = members
  return members
}

/** Rows with more members are rare. */
const mostMembersKept = 64

function byLengthAndBytes(one: string, other: string): number {
  if (plain.test(one) && plain.test(other)) return one.length - other.length || (one < other ? -1 : 1)
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length - b.length || a.compare(b)
}

/** Characters of which each is one byte. */
const plain = /^[ -~]*$/
