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
  collectYoung ??= collection({ type: 'minor' })
  collectYoung()
}

/** What a process may have in memory before it gives back what V8 keeps and does not use. Bytes. */
const residentAtMost = 200 * 1024 * 1024

/** What must have come since the last time, so that what is in use is not looked for again and again. Bytes. */
const grownAgain = 24 * 1024 * 1024

/** Between two looks at the memory of the process. Milliseconds. */
const residentLookMs = 100

/**
 * Has V8 give back what it keeps and does not use whenever the process has grown beyond a bound: garbage, and memory
 * that it holds ready for more. V8 knows its own heap only, and not what the process holds beside it. That takes a
 * tenth of a second or two each time, in which the process does nothing else.
 * @param atMost bytes in memory. No promise: what is in use stays.
 * @returns what ends it.
 */
export function boundResident(atMost = residentAtMost): Disposable {
  const giveBack = collection({ type: 'major', flavor: 'last-resort' })
  let due = atMost
  const timer = setInterval(() => {
    const resident = process.memoryUsage.rss()
    due = Math.max(atMost, Math.min(due, resident + grownAgain))
    if (resident < due) return
    giveBack()
    makeRoomForRows()
    due = Math.max(atMost, process.memoryUsage.rss() + grownAgain)
  }, residentLookMs).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

type Collection = { type: 'minor' } | { type: 'major'; flavor: 'last-resort' }

/** V8 shows its collector to contexts that are made after it was told to. */
function collection(which: Collection): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: Collection) => void
  setFlagsFromString('--no-expose-gc')
  return () => collect(which)
}
