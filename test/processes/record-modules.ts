/**
 * Loaded before the program by a test: writes the address of every module that was loaded, one a line, as the process
 * ends.
 */
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const loaded: string[] = []

registerHooks({
  load: (url, context, next) => {
    loaded.push(url)
    return next(url, context)
  },
})

process.on('exit', () => writeFileSync(process.env.LOADED_MODULES ?? '', loaded.join('\n')))
