import { fileURLToPath } from 'node:url'

/** Where the package has the console. Seen from here as from the built program: both stand one folder deep. */
export const builtConsole = fileURLToPath(new URL('../../console/dist', import.meta.url))
