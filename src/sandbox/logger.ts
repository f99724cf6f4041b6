type Write = (fields: object, event: string) => void

/** What the sandbox needs of a logger; pino's fits. */
export type SandboxLogger = { info: Write; warn: Write; error: Write }

export const silentLogger: SandboxLogger = { info: () => undefined, warn: () => undefined, error: () => undefined }
