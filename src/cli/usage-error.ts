/** The command line cannot be acted on: exit code 2. */
export class UsageError extends Error {
  readonly code = 'usage'
}
