/** A world file cannot be read or written, or does not say what a world is. `code` is stable. */
export class WorldFileError extends Error {
  readonly code: 'world_file_unreadable' | 'world_file_invalid' | 'world_file_not_written'

  constructor(code: WorldFileError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
