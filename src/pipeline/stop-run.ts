/**
 * Something that stops the run at hand and that trying again at once does not fix. The run ends as failed,
 * with this code and message for the person who reads it in the morning; nothing of the step is kept.
 */
export class StopRun extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
