/** What may be undefined may be missing instead; the rest is there. */
type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> } & {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
}

/** The entries that have a value: of a filter, what was asked for; of options, those that were given. */
export function given<T extends object>(all: T): Given<T> {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as never
}
