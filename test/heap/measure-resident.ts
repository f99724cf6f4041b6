import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import { boundHeap, boundResident, makeRoomForRows } from '../../src/heap.ts'

/**
 * Prints as JSON what a process has in memory that has grown beyond a bound with what it does not use any more, before
 * and after it gave that back. A full collection bears a flag only where somebody asked for it. MB.
 */
const megabyte = 1024 * 1024
const resident = () => process.memoryUsage.rss() / megabyte
let asked = 0
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries() as (PerformanceEntry & { detail: { kind: number; flags: number } })[]) {
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR && detail.flags !== 0) asked++
  }
}).observe({ entryTypes: ['gc'] })

boundHeap()
makeRoomForRows()
const bound = resident() + 32
using _bounded = boundResident(bound * megabyte)
let inUse: object[] = []
while (resident() < bound + 32) {
  for (let one = 0; one < 10_000; one++) inUse.push({ list: [one] })
}
const most = resident()
inUse = []
while (asked === 0) await delay(10)
const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
console.log(JSON.stringify({ bound, most, left: resident(), room: (space?.space_size ?? 0) / 2 / megabyte }))
