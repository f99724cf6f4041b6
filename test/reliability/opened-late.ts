/** A benchmark in which what is older takes its time to close, so that the rest of the program goes on meanwhile. */
import { once } from 'node:events'
import { Opened } from '../../bench/opened.ts'

// The process has nothing else to wait for.
setInterval(() => {}, 60_000)
await using opened = new Opened()
const folder = await opened.folder('late')
let closing = () => {}
const begun = new Promise<void>((resolve) => {
  closing = resolve
})
opened.defer(async () => {
  closing()
  // As long as the next server takes that the program begins to open now.
  await once(process, 'late')
})
process.stdout.write('ready\n')
await begun
const server = opened.server(`${folder}/late`).catch((error: Error) => process.stdout.write(`${error.message}\n`))
opened.defer(() => process.stdout.write('closed late\n'))
await server
process.emit('late' as 'beforeExit', 0)
await new Promise(() => {})
