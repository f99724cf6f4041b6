import type { ConfigProblem } from './config-error.ts'

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

type Interpolation = {
  environment: Readonly<Record<string, string | undefined>>
  problems: ConfigProblem[]
  /** Reads a text that had a reference as what the setting at the path is: a number, a list. */
  convert: (path: string, text: string) => unknown
}

/**
 * Replaces `${NAME}` and `${NAME:-fallback}` in every string of a configuration document; the fallback also stands for
 * an empty variable, as in a shell. SQL keeps its own dollar signs: only this spelling is touched.
 */
export function interpolate(value: unknown, how: Interpolation, path: string[] = []): unknown {
  if (typeof value === 'string') {
    const text = value.replaceAll(reference, (whole, name: string, fallback: string | undefined) => {
      const found = fallback === undefined ? how.environment[name] : how.environment[name] || fallback
      if (found !== undefined) return found
      how.problems.push({ path: path.join('.'), message: `the environment variable ${name} is not set` })
      return whole
    })
    return text === value ? value : how.convert(path.join('.'), text)
  }
  if (Array.isArray(value)) return value.map((entry, index) => interpolate(entry, how, [...path, String(index)]))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, interpolate(entry, how, [...path, key])]),
    )
  }
  return value
}
