import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { createMissingSymlinks, platformPackage, sharedPlaces } from '../../src/embedded/binaries.ts'
import { locationOf } from '../../src/embedded/initialise-data.ts'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { ask, clusterFolder } from '../db/fixtures/cluster-process.ts'
import { some } from '../helpers/some.ts'
import { fastSettings } from '../helpers/test-cluster.ts'

const isRoot = process.geteuid?.() === 0

/** The package as npm unpacks it without running its install script, under a version of its own. */
async function copyPackage(to: string, version: string): Promise<void> {
  const original = platformPackage()
  await mkdir(to, { recursive: true })
  await cp(join(original, 'native'), join(to, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: async (source) => !source.endsWith('.a') && !(await lstat(source)).isSymbolicLink(),
  })
  const description = JSON.parse(await readFile(join(original, 'package.json'), 'utf8')) as { name: string }
  await writeFile(join(to, 'package.json'), JSON.stringify({ name: description.name, version }))
}

async function links(packageFolder: string): Promise<{ source: string; target: string }[]> {
  return JSON.parse(await readFile(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8')) as []
}

test('the embedded server creates the links that the install script would have created, also when two do so at once', async () => {
  await using place = await clusterFolder()
  const packageFolder = join(place.parent, 'package')
  await copyPackage(packageFolder, '0.0.0-links')
  const listed = await links(packageFolder)
  expect(listed.length).toBeGreaterThan(0)
  await Promise.all([createMissingSymlinks(packageFolder), createMissingSymlinks(packageFolder)])
  for (const { source, target } of some(listed)) {
    expect(await readlink(join(packageFolder, target))).toBe(basename(source))
  }
})

test('the embedded server starts from a package whose links are missing', async () => {
  await using place = await clusterFolder()
  const packageFolder = join(place.parent, 'package')
  await copyPackage(packageFolder, '0.0.0-unlinked')
  const cluster = await openCluster({ folder: place.folder, onNotice: () => {}, settings: fastSettings, packageFolder })
  expect(await ask(cluster.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }])
  await cluster.release()
})

test('the embedded server works under a folder of mode 700, says once where the data and the programs went, and finds them again', async () => {
  await using place = await clusterFolder()
  const packageFolder = join(place.parent, 'package')
  const version = `0.0.0-test-${basename(place.parent)}`
  const copies = sharedPlaces.map((shared) => join(shared, `postgres-${version}-${basename(platformPackage())}`))
  await copyPackage(packageFolder, version)
  await chmod(place.parent, 0o700)
  const notices: string[] = []
  const onNotice = (sentence: string) => notices.push(sentence)
  const options = { folder: place.folder, onNotice, settings: fastSettings, packageFolder }
  try {
    const first = await openCluster(options)
    await ask(first.url('postgres'), 'create table kept as select 1 as one')
    const home = (await locationOf(place.folder)) ?? place.folder
    await first.release()
    // Only root hands the server to another user; everyone else's server reads what they can read themselves.
    expect(notices).toHaveLength(isRoot ? 2 : 0)
    expect(home === place.folder).toBe(!isRoot)
    if (isRoot) {
      expect(notices[0]).toContain(version)
      expect(notices[1]).toContain(home)
    }
    const second = await openCluster(options)
    expect(await ask(second.url('postgres'), 'select one from kept')).toEqual([{ one: 1 }])
    await second.release()
    expect(await runningPostmaster(join(home, 'data'))).toBeUndefined()
    expect(notices).toHaveLength(isRoot ? 2 : 0)
  } finally {
    for (const copy of copies) await rm(copy, { recursive: true, force: true })
  }
})

/** Names that a shell reads as its own: the first as a variable, others as programs to run. */
const namesForShells = ['cost$ave', 'b$(touch "$HOME/ran" /tmp/ran)x', 'b`touch ran`x', 'a "b" c', "it's", 'a\\b']

test.each(namesForShells)('the embedded server keeps its data in a folder named %s', async (name) => {
  await using place = await clusterFolder()
  const folder = join(place.parent, name, 'postgres')
  const options = { folder, onNotice: () => {}, settings: fastSettings }
  const first = await openCluster(options)
  await ask(first.url('postgres'), 'create table kept as select 1 as one')
  await first.release()
  const second = await openCluster(options)
  expect(second.startedHere).toBe(true)
  expect(await ask(second.url('postgres'), 'select one from kept')).toEqual([{ one: 1 }])
  await second.release()
  expect(await runningPostmaster(join(folder, 'data'))).toBeUndefined()
})

test('the embedded server runs no program by a path that a shell would read, and runs a copy of it instead', async () => {
  await using place = await clusterFolder()
  const ran = join(place.parent, 'ran')
  const packageFolder = join(place.parent, 'a$(touch $(printf "..%sran" /))b', 'package')
  const version = `0.0.0-shell-${basename(place.parent)}`
  await copyPackage(packageFolder, version)
  const copies = sharedPlaces.map((shared) => join(shared, `postgres-${version}-${basename(platformPackage())}`))
  const notices: string[] = []
  const onNotice = (sentence: string) => notices.push(sentence)
  try {
    const options = { folder: place.folder, onNotice, settings: fastSettings, packageFolder }
    const cluster = await openCluster(options)
    expect(await ask(cluster.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }])
    await cluster.release()
    expect(notices.join()).toContain(`cannot run those in ${packageFolder}`)
    await expect(stat(ran)).rejects.toThrow('ENOENT')
  } finally {
    for (const copy of copies) await rm(copy, { recursive: true, force: true })
  }
})

test('the embedded server makes nothing in a folder whose name has a line break', async () => {
  await using place = await clusterFolder()
  const opened = openCluster({ folder: join(place.parent, 'a\nb'), onNotice: () => {}, settings: fastSettings })
  await expect(opened).rejects.toMatchObject({ code: 'embedded_postgres_failed' })
  await expect(opened).rejects.toThrow('has a line break in it')
  expect(await readdir(place.parent)).toEqual([])
})

test('the embedded server works where everything is made under umask 077', async () => {
  await using place = await clusterFolder()
  const before = process.umask(0o077)
  try {
    const folder = join(place.parent, 'project', '.nightferry', 'postgres')
    const cluster = await openCluster({ folder, onNotice: () => {}, settings: fastSettings })
    expect(await ask(cluster.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }])
    expect((await lstat(join(folder, 'data'))).mode & 0o777).toBe(0o700)
    await cluster.release()
  } finally {
    process.umask(before)
  }
})

test.runIf(isRoot)(
  'the server, started as root, refuses a folder that others may write, and touches nothing that it names',
  async () => {
    await using place = await clusterFolder()
    const victim = join(place.parent, 'victim')
    await writeFile(victim, 'kept', { mode: 0o600 })
    await mkdir(place.folder, { recursive: true })
    await symlink(victim, join(place.folder, 'server.log'))
    await symlink(victim, join(place.folder, 'server.conf'))
    const nobody = 65_534
    for (const open of [() => chmod(place.folder, 0o777), () => chown(place.folder, nobody, nobody)]) {
      await open()
      const opened = openCluster({ folder: place.folder, onNotice: () => {}, settings: fastSettings })
      await expect(opened).rejects.toThrow(/root must not trust it/)
      expect(await readFile(victim, 'utf8')).toBe('kept')
      expect(await lstat(victim)).toMatchObject({ uid: 0, mode: 0o100600 })
    }
  },
)

test('the embedded server begins no empty database where the place that location.txt names is gone, and finds it again', async () => {
  await using place = await clusterFolder()
  const elsewhere = join(place.parent, 'elsewhere')
  const location = join(place.folder, 'location.txt')
  await mkdir(place.folder)
  await writeFile(location, `${elsewhere}\n`)
  const open = () => openCluster({ folder: place.folder, onNotice: () => {}, settings: fastSettings })
  for (const arrange of [async () => {}, () => mkdir(elsewhere)]) {
    await arrange()
    const opened = open()
    await expect(opened).rejects.toMatchObject({ code: 'embedded_postgres_failed' })
    await expect(opened).rejects.toThrow(`lies in ${elsewhere}`)
    await expect(opened).rejects.toThrow(`delete ${location} to begin with an empty database`)
    expect(await readFile(location, 'utf8')).toBe(`${elsewhere}\n`)
  }
  await writeFile(join(elsewhere, 'belongs-to.txt'), `${place.folder}\n`)
  expect(await locationOf(place.folder)).toBe(elsewhere)
  await rm(location)
  const cluster = await open()
  expect(cluster.startedHere).toBe(true)
  await cluster.release()
})

test.runIf(isRoot)(
  'the embedded server, started as root, begins no empty database elsewhere when its folder is closed later',
  async () => {
    await using place = await clusterFolder()
    const options = { folder: place.folder, onNotice: () => {}, settings: fastSettings }
    const first = await openCluster(options)
    await ask(first.url('postgres'), 'create table kept as select 1 as one')
    await first.release()
    await chmod(place.parent, 0o700)
    await expect(openCluster(options)).rejects.toThrow(/cannot enter it any more/)
    await chmod(place.parent, 0o755)
    const again = await openCluster(options)
    expect(await ask(again.url('postgres'), 'select one from kept')).toEqual([{ one: 1 }])
    await again.release()
  },
)

test('a location.txt that cannot be read is not taken for none', async () => {
  await using place = await clusterFolder()
  await mkdir(join(place.folder, 'location.txt'), { recursive: true })
  await expect(locationOf(place.folder)).rejects.toMatchObject({ code: 'EISDIR' })
})

test('the embedded server does not share the data of the folder that it is a copy of', async () => {
  await using place = await clusterFolder()
  const elsewhere = join(place.parent, 'elsewhere')
  const copy = join(place.parent, 'copy')
  await mkdir(elsewhere)
  await mkdir(place.folder)
  await writeFile(join(place.folder, 'location.txt'), `${elsewhere}\n`)
  await writeFile(join(elsewhere, 'belongs-to.txt'), `${place.folder}\n`)
  await cp(place.folder, copy, { recursive: true })
  await expect(openCluster({ folder: copy, onNotice: () => {} })).rejects.toThrow(/holds the database of/)
})
