import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/**
 * Keeps the part of V8's heap where objects begin from growing further than it has while the program was loaded. What
 * passes through here in millions lives for moments: with more room it is not freed earlier, only later, and more of it
 * is moved to where only full collections free it. Measured in a first extraction: 35 to 50 MB less at the peak, and no
 * more processor time.
 */
export function boundHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/**
 * Both halves of the part of the heap where objects begin, in a process that carries rows; V8 begins with 1. Megabytes.
 */
const roomForRows = 16

/**
 * How much of the heap and of the buffers beside it may be garbage, in percent of what is in use, before a full
 * collection frees it; V8 lets the heap double and more, and collects for the buffers alone besides.
 */
const garbageShare = 35

/** Turns of 2,000 objects after which the room must have grown. It takes about five. */
const mostTurns = 200

/**
 * Gives a process that carries rows room for some batches of them, so that most are garbage by the time that the room
 * is full and need not be moved; and has the rest of the heap collected before it has doubled.
 */
export function makeRoomForRows(): void {
  setFlagsFromString('--semi-space-growth-factor=8')
  // The room grows when objects that are in use fill it, and by no call.
  const inUse: object[] = []
  for (let turn = 0; roomForObjects() < roomForRows * 1024 * 1024 && turn < mostTurns; turn++) {
    for (let object = 0; object < 2_000; object++) inUse.push({ object, turn, list: [object] })
  }
  boundHeap()
  setFlagsFromString('--external-memory-accounted-in-global-limit')
  setFlagsFromString(`--heap-growing-percent=${garbageShare}`)
}

function roomForObjects(): number {
  return (
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ??
    Number.POSITIVE_INFINITY
  )
}
