import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  identityOf,
  isAlive,
  livingMembers,
  ownIdentity,
  startTicksOf,
  withFolderLock,
} from '../../src/embedded/folder-lock.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { clusterFolder } from './fixtures/cluster-process.ts'

async function deadIdentity(): Promise<string> {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  await once(child, 'spawn')
  const identity = identityOf(child.pid ?? 0)
  if (identity === undefined) throw new Error('the process that was just started has no identity')
  expect(isAlive(identity)).toBe(true)
  child.kill('SIGKILL')
  await once(child, 'exit')
  return identity
}

test('the folder lock knows a process by its start, so that a process id given again is another process', async () => {
  const own = ownIdentity()
  expect(isAlive(own)).toBe(true)
  expect(isAlive(`${process.pid}.1-00000000`)).toBe(false)
  expect(isAlive(await deadIdentity())).toBe(false)
})

test('the folder lock knows a process by its start alone where one side cannot read which boot of the machine it is', () => {
  const elsewhere = ownIdentity().replace(/-[0-9a-f]{8}$/, '-boot')
  expect(isAlive(elsewhere)).toBe(true)
  expect(isAlive(`${process.pid}.1-boot`)).toBe(false)
})

test('counts no process that is a zombie or is being taken down, whatever it is called', () => {
  const line = (state: string, flags: number) =>
    `42 (odd) S 1 (name) ${state} 1 42 42 0 -1 ${flags} 9 0 0 0 5 1 0 0 20 0 11 0 1131489 0 0`
  expect(startTicksOf(line('S', 0x40_0000))).toBe('1131489')
  expect(startTicksOf(line('R', 0x40_0004))).toBeUndefined()
  expect(startTicksOf(line('Z', 0x40_0000))).toBeUndefined()
})

test('the folder lock lets twenty holders in one after the other and leaves no lock behind', async () => {
  await using place = await clusterFolder()
  await mkdir(place.folder)
  let inside = 0
  let most = 0
  const enter = () =>
    withFolderLock(place.folder, async () => {
      inside += 1
      most = Math.max(most, inside)
      await readdir(place.folder)
      inside -= 1
    })
  await Promise.all(Array.from({ length: 20 }, enter))
  expect(most).toBe(1)
  expect(await readdir(place.folder)).toEqual([])
})

test('the folder lock breaks the lock of a dead process, and what it had prepared', async () => {
  await using place = await clusterFolder()
  const dead = await deadIdentity()
  await mkdir(join(place.folder, 'lock'), { recursive: true })
  await mkdir(join(place.folder, `lock-${dead}.7`))
  await writeFile(join(place.folder, 'lock', `${dead}.1`), '')
  expect(await Promise.all([1, 2, 3].map((n) => withFolderLock(place.folder, async () => n)))).toEqual([1, 2, 3])
  expect(await readdir(place.folder)).toEqual([])
})

test('the folder lock releases the lock when the work fails', async () => {
  await using place = await clusterFolder()
  await mkdir(place.folder)
  const failing = withFolderLock(place.folder, () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  expect(await withFolderLock(place.folder, async () => 'in')).toBe('in')
})

test('counts only members that live', async () => {
  await using place = await clusterFolder()
  const dead = await deadIdentity()
  await mkdir(join(place.folder, 'members'), { recursive: true })
  await writeFile(join(place.folder, 'members', `${dead}.1`), '')
  await writeFile(join(place.folder, 'members', `${ownIdentity()}.1`), '')
  expect(await livingMembers(place.folder)).toEqual([`${ownIdentity()}.1`])
})

test('members that cannot be read are not taken for none', async () => {
  await using place = await clusterFolder()
  await mkdir(place.folder)
  expect(await livingMembers(place.folder)).toEqual([])
  await writeFile(join(place.folder, 'members'), '')
  await expect(livingMembers(place.folder)).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test('a postmaster.pid that cannot be read is not taken for none', async () => {
  await using place = await clusterFolder()
  expect(await runningPostmaster(place.data)).toBeUndefined()
  const file = join(place.data, 'postmaster.pid')
  await mkdir(file, { recursive: true })
  await expect(runningPostmaster(place.data)).rejects.toMatchObject({ code: 'EISDIR' })
  await rmdir(file)
})
