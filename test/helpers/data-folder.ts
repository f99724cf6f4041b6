import { statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'

/** Kept in memory on Linux. */
const inMemory = '/dev/shm'

/** Two suites at a time took 1.1 GB. */
const roomBytes = 4 * 1024 ** 3

/** Wherever earlier runs may have left something. */
export const dataFolders: readonly string[] = [inMemory, tmpdir()]

/**
 * Where tests keep the data of servers: in memory if there is room for all of them, because a database is some three
 * hundred files, and on some machines those take half a second to write on a disk; else among the temporary files.
 */
export function dataFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(inMemory)
    return Math.min(bavail * bsize, freemem()) >= roomBytes ? inMemory : tmpdir()
  } catch {
    return tmpdir()
  }
}
