import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Keeps the part of V8's heap where objects begin from growing further than it has while the program was loaded. What
 * passes through here in millions lives for moments: with more room it is not freed earlier, only later, and more of it
 * is moved to where only full collections free it. Measured in a first extraction: 35 to 50 MB less at the peak, and no
 * more processor time.
 */
export function boundHeap(): void {
  growRoomBy(1)
}

/**
 * Each half of the part of the heap where objects begin, while rows are carried; V8 begins with half a megabyte or one.
 * Megabytes.
 */
const roomForRows = 8

/**
 * How much of the heap and of the buffers beside it may be garbage, in percent of what is in use, before a full
 * collection frees it; V8 lets the heap double and more, and collects for the buffers alone besides.
 */
const garbageShare = 35

/** Turns of 2,000 objects after which the room must have grown. */
const mostTurns = 200

/**
 * Gives a process that is about to carry rows room for some batches of them, so that most are garbage by the time that
 * the room is full and need not be moved; and has the rest of the heap collected as `garbageShare` says. V8 takes the
 * room away from a process that does little for a while, so this is called whenever work begins, and does nothing where
 * the room is there.
 */
export function makeRoomForRows(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit')
  setFlagsFromString(`--heap-growing-percent=${garbageShare}`)
  // The room grows when objects that are in use fill it, and by no call.
  const inUse: object[] = []
  growRoomBy(2)
  for (let turn = 0; megabytesOfRoom() < roomForRows && turn < mostTurns; turn++) {
    for (let object = 0; object < 2_000; object++) inUse.push({ object, turn, list: [object] })
  }
  boundHeap()
}

/** What one half holds. */
function megabytesOfRoom(): number {
  const room = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size
  return room === undefined ? Number.POSITIVE_INFINITY : room / 2 / 1024 / 1024
}

function growRoomBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`)
}

/** Bytes that may be handed on before their buffers are freed, unless the one who hands them on knows better. */
const passedAtMost = 4 * 1024 * 1024

let passed = 0
let collectYoung: (() => void) | undefined

/**
 * Told of bytes that were handed on in buffers and are not kept. V8 collects where objects begin when they have filled
 * their room, and a buffer is a small object there, however many bytes lie beside it: a process that does little but
 * hand bytes on held a hundred megabytes of them.
 * @param atMost bytes that may be handed on so, before their buffers are freed. Where they are held twice on their way,
 *   in a heap that is small beside them, fewer spare V8 full collections.
 */
export function bytesPassed(bytes: number, atMost = passedAtMost): void {
  passed += bytes
  if (passed < atMost) return
  passed = 0
  collectYoung ??= youngCollection()
  collectYoung()
}

/** V8 shows its collector to contexts that are made after it was told to. */
function youngCollection(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void
  setFlagsFromString('--no-expose-gc')
  return () => collect({ type: 'minor' })
}
