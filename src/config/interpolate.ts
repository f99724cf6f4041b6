import type { ConfigProblem } from './config-error.ts'

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

/**
 * Replaces `${NAME}` and `${NAME:-fallback}` in every string of a configuration document.
 * SQL keeps its own dollar signs: only this spelling is touched.
 */
export function interpolate(
  value: unknown,
  environment: Readonly<Record<string, string | undefined>>,
  problems: ConfigProblem[],
  path: string[] = [],
): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(reference, (whole, name: string, fallback: string | undefined) => {
      const found = environment[name] ?? fallback
      if (found !== undefined) return found
      problems.push({ path: path.join('.'), message: `the environment variable ${name} is not set` })
      return whole
    })
  }
  if (Array.isArray(value)) {
    return value.map((entry, index) => interpolate(entry, environment, problems, [...path, String(index)]))
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, interpolate(entry, environment, problems, [...path, key])]),
    )
  }
  return value
}
