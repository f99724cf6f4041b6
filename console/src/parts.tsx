import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { addressOf } from './address.ts'
import type { Known } from './answer.ts'
import { nowThere } from './clock.ts'
import { csvOf } from './csv.ts'
import { saveAs } from './save-as.ts'
import { ageWords, grouped, momentWords, verdictOf } from './words.ts'

export function Mark({ state, verdict }: { state: string; verdict: string | null }) {
  const { tone, sign, word } = verdictOf(state, verdict)
  return (
    <span class={`mark ${tone}`}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  )
}

/** A name in any script and direction, which turns nothing around it. */
export function Name({ of }: { of: string | null | undefined }) {
  return <bdi dir="auto">{of ?? ''}</bdi>
}

export function HotelLink({ id }: { id: string | null }) {
  if (id === null) return null
  return (
    <a href={addressOf('hotel', { id })}>
      <bdi>{id}</bdi>
    </a>
  )
}

export type Column<T> = {
  name: string
  /** The text, for the table and for CSV. */
  of: (row: T) => string | number | null
  /** What the table shows instead. */
  show?: (row: T) => ComponentChildren
  /** `words` are sentences, which are given room. */
  kind?: 'number' | 'key' | 'fixed' | 'words'
}

/** A table of more rows scrolls within the page, under its head. */
const longRows = 25

/** A table that can be taken along as CSV: what is shown, and no more. */
export function Table<T>({
  name,
  columns,
  rows,
  empty,
  more = 0,
}: {
  name: string
  columns: Column<T>[]
  rows: readonly T[]
  empty: string
  /** How many more there are than the table holds, or that there are some. */
  more?: number | boolean
}) {
  if (rows.length === 0) return <p class="quiet">{empty}</p>
  const text = (column: Column<T>, row: T) => String(column.of(row) ?? '')
  const save = () =>
    saveAs(
      `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.csv`,
      csvOf(
        columns.map((column) => column.name),
        rows.map((row) => columns.map((column) => text(column, row))),
      ),
    )
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be scrollable by keyboard */}
      <section class={`scroll ${rows.length > longRows ? 'long' : ''}`} tabIndex={0} aria-label={name}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.name} scope="col" class={column.kind === 'number' ? 'number' : ''}>
                  {column.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              // Rows have no name of their own.
              <tr key={index}>
                {columns.map((column) => (
                  <td key={column.name} class={column.kind ?? ''}>
                    {column.show === undefined ? <Shown value={column.of(row)} /> : column.show(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p class="row taken">
        <button type="button" class="small" onClick={save}>
          Save as CSV<span class="skip"> ({name})</span>
        </button>
        {rows.length > longRows && <span class="small quiet">{grouped(rows.length)} lines</span>}
        {Number(more) > 0 && (
          <span class="small">
            {more === true ? 'There are more than these.' : `${grouped(Number(more))} more are not shown.`}
          </span>
        )}
      </p>
    </div>
  )
}

function Shown({ value }: { value: string | number | null }) {
  if (typeof value === 'number') return <>{grouped(value)}</>
  return <Name of={value} />
}

export function Panel({
  title,
  aside,
  children,
}: {
  title: string
  aside?: ComponentChildren
  children: ComponentChildren
}) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  )
}

export function Facts({ of }: { of: [string, ComponentChildren, ComponentChildren?][] }) {
  return (
    <dl class="facts">
      {of.map(([name, value, more]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {more !== undefined && <small>{more}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** The heading of a page with how old its data are, and what is the matter if nobody answers. */
export function Head({ title, of }: { title: string; of?: Known<unknown> }) {
  const [now, setNow] = useState(() => new Date(nowThere()))
  const at = of?.at ?? null
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date(nowThere())), 1_000)
    return () => clearInterval(timer)
  }, [])
  useEffect(() => {
    document.title = `${title} · Nightferry`
  }, [title])
  const error = of?.error ?? null
  return (
    <>
      <div class="strip">
        <h1>{title}</h1>
        <span class="small quiet" data-age>
          {at === null ? '' : `as of ${momentWords(at)}, ${ageWords(at, now)} ago`}
        </span>
      </div>
      <div class={error === null ? '' : `notice ${at === null ? 'failed' : ''}`}>
        <span role="status">{error?.message}</span>{' '}
        {/* It grows each second: within what is read out, it would be read out each second. */}
        {error !== null && at !== null && `What you see is ${ageWords(at, now)} old. `}
        {error !== null && (error.status === 0 || error.status >= 500) && 'The page tries again by itself.'}
      </div>
    </>
  )
}

/** What is shown before the first answer. */
export function Waiting({ of }: { of: Known<unknown> }) {
  if (of.error !== null) return <p class="quiet">Nothing to show yet. {of.error.message}</p>
  if (!of.computing) return <p class="quiet">Reading …</p>
  return (
    <p class="quiet" role="status">
      Nightferry is computing this from all hotels. The page shows it as soon as it is there.
    </p>
  )
}

/** A question that has to be answered first, over everything else. Escape answers no. */
export function Ask({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const from = document.activeElement
    dialog.current?.showModal()
    return () => (from instanceof HTMLElement ? from.focus() : undefined)
  }, [])
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <h1>{title}</h1>
      {children}
    </dialog>
  )
}

export function Sentences({ of }: { of: readonly string[] }) {
  return (
    <ul class="sentences">
      {of.map((words) => (
        <li key={words} dir="auto">
          {words}
        </li>
      ))}
    </ul>
  )
}

/** A field of the address: what is typed is taken over when it is left, or with Enter. */
export function Field({ label, value, onGive }: { label: string; value: string; onGive: (text: string) => void }) {
  return (
    <label>
      {label}
      <input
        type="search"
        key={value}
        defaultValue={value}
        onChange={(event) => onGive(event.currentTarget.value.trim())}
        dir="auto"
      />
    </label>
  )
}

export function Choice({
  label,
  value,
  of,
  onGive,
}: {
  label: string
  value: string
  of: [string, string][]
  onGive: (text: string) => void
}) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onGive(event.currentTarget.value)}>
        {of.map(([given, name]) => (
          <option key={given} value={given}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
