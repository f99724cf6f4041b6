import { statfs } from 'node:fs/promises'
import { RehearsalRefused } from './rehearsal-refused.ts'

/** The copy's own growth in a night: payloads, new rows, the log of the server. Too low fails in the midst of it. */
const growth = 1.5
/** Tables and indexes of the mirror's companies, by the bytes of the world file. */
const worldFactor = 4
/** What nobody should use up: other programs write there too. In bytes. */
const reserve = 256 * 1024 * 1024

/** What a rehearsal takes on the disk, in bytes: more than it will. Pure. */
export function bytesNeeded(ledger: number, worldFile: number): number {
  return Math.ceil(ledger * growth + worldFile * worldFactor) + reserve
}

/**
 * @param folder on the file system that the copy is to be written to; null: it is on another machine.
 * @returns how much is free, in bytes; null where that cannot be known.
 * @throws {RehearsalRefused} `rehearsal_no_room`.
 */
export async function requireRoom(folder: string | null, needed: number): Promise<number | null> {
  const place = folder === null ? null : await statfs(folder).catch(() => null)
  if (place === null) return null
  const free = place.bavail * place.bsize
  if (free >= needed) return free
  const mebibytes = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en')} MiB`
  throw new RehearsalRefused(
    'rehearsal_no_room',
    `A rehearsal needs ${mebibytes(needed)} for the copy of the ledger and the mirror, and ${folder} has ${mebibytes(free)} free. Make room, set database.folder to another disk, or name a database elsewhere with --database.`,
  )
}
