import { once } from 'node:events'
import { join } from 'node:path'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { undroppedDatabases } from './test-cluster.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error('Usage: node test/helpers/open-kept.ts FOLDER, as the test run printed it.')
  process.exit(2)
}
const cluster = await openCluster({ folder: join(folder, 'postgres'), onNotice: console.error })
for (const { name, file } of await undroppedDatabases(folder)) console.log(`${file}\n  psql '${cluster.url(name)}'`)
console.log('Ctrl-C stops the server and keeps the folder; delete it when you are done.')
const listening = setInterval(() => {}, 60_000)
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
clearInterval(listening)
await cluster.release()
