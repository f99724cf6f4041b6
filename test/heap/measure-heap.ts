import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { boundHeap, bytesPassed, makeRoomForRows } from '../../src/heap.ts'

/** Prints as JSON what a process that carries rows, hands bytes on, and carries rows again holds at each point, in MB. */
const megabyte = 1024 * 1024
const roomOf = () => {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return (space?.space_size ?? 0) / 2 / megabyte
}

boundHeap()
const begun = roomOf()
makeRoomForRows()
const room = roomOf()

let mostHeld = 0
for (let piece = 0; piece < 256; piece++) {
  bytesPassed(Buffer.alloc(megabyte).length)
  mostHeld = Math.max(mostHeld, process.memoryUsage().arrayBuffers / megabyte)
  await new Promise((resolve) => setTimeout(resolve, 2))
}
// V8 takes the room away from a process that does little, when it sees fit; told that memory is short, at once.
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
collect({ type: 'major', flavor: 'last-resort' })
const idle = roomOf()
makeRoomForRows()
console.log(JSON.stringify({ begun, room, mostHeld, idle, again: roomOf() }))
