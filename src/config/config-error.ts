export type ConfigProblem = { path: string; message: string }

/** The configuration cannot be used. Lists every problem with its path, so that one look fixes all of them. */
export class ConfigError extends Error {
  readonly code = 'config_invalid'
  readonly problems: readonly ConfigProblem[]

  constructor(where: string, problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ path, message }) => `  ${path === '' ? '(top)' : path}: ${message}`)
    super(`${where}\n${lines.join('\n')}`)
    this.problems = problems
  }
}
