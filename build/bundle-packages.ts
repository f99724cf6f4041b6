/**
 * The second half of `npm run build`: node build/bundle-packages.ts [FOLDER]
 *
 * Kysely, Zod and yaml are four hundred files together, and Node.js takes longer to find them than to run a verb. So
 * the build in FOLDER (dist) gets each as one file, and imports that. Only what is built is changed: from the sources,
 * and for types, the packages are themselves.
 */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * File of the bundle by what is imported. A package is here whole or not at all: two copies of it would not know each
 * other.
 */
const bundled = { kysely: 'kysely', 'kysely/migration': 'kysely-migration', zod: 'zod', yaml: 'yaml' } as const

const entryPrefix = 'entry:'

const folder = resolve(process.argv[2] ?? join(root, 'dist'))
const packages = join(folder, 'packages')
await rm(packages, { recursive: true, force: true })
await mkdir(packages)
await writeBundles()
await copyLicences()
for (const name of await readdir(folder, { recursive: true })) {
  const file = join(folder, name)
  if (name.endsWith('.js') && dirname(file) !== packages) await importBundles(file)
}

async function writeBundles(): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    platform: 'node',
    input: Object.fromEntries(Object.entries(bundled).map(([imported, file]) => [file, entryPrefix + imported])),
    preserveEntrySignatures: 'strict',
    plugins: [{ name: 'entries', resolveId: (id) => (id.startsWith(entryPrefix) ? id : null), load: entry }],
  })
  await bundle.write({ dir: packages, format: 'esm', chunkFileNames: '[name].js' })
  await bundle.close()
}

/** What a package exports by name, as Node.js sees it: a bundle of CommonJS would export it all as one. */
async function entry(id: string): Promise<string | null> {
  if (!id.startsWith(entryPrefix)) return null
  const imported = id.slice(entryPrefix.length)
  const names = Object.keys((await import(imported)) as object).filter(
    (name) => name !== 'default' && name !== 'module.exports',
  )
  return `export { ${names.join(', ')} } from '${imported}'`
}

/** Whoever gives a copy away gives its licence with it. */
async function copyLicences(): Promise<void> {
  const names = new Set(Object.keys(bundled).map((imported) => imported.split('/')[0] ?? imported))
  for (const name of names) {
    await copyFile(join(root, 'node_modules', name, 'LICENSE'), join(packages, `${name}-LICENSE`))
  }
}

/** Makes a built file import the bundles where it imports the packages. */
async function importBundles(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const path = relative(dirname(file), packages).replaceAll(sep, '/')
  const prefix = path.startsWith('.') ? path : `./${path}`
  const changed = text.replaceAll(
    /^((?:import|export)\b[^'"]*\bfrom )(['"])([^'"]+)\2/gm,
    (whole: string, head: string, quote: string, imported: string) =>
      Object.hasOwn(bundled, imported)
        ? `${head}${quote}${prefix}/${bundled[imported as keyof typeof bundled]}.js${quote}`
        : whole,
  )
  if (changed !== text) await writeFile(file, changed)
}
