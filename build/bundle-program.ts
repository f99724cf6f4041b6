/**
 * The second half of `npm run build`: node build/bundle-program.ts [FOLDER]
 *
 * Node.js takes longer to find hundreds of files than to run a verb. So the build in FOLDER (dist) becomes `main.js`
 * and the pieces that it loads: what several verbs share, and what one verb alone needs. Kysely, Zod and yaml, which
 * are four hundred files together, are among them; other packages are imported as they are installed.
 */
import { copyFile, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = ['kysely', 'yaml', 'zod'] as const
/** One level deep, as the folders of the sources are: paths to the package's other files stay right. */
const pieces = 'program'

const folder = resolve(process.argv[2] ?? join(root, 'dist'))
const compiled = await readdir(folder)
const bundle = await rolldown({
  platform: 'node',
  input: { main: join(folder, 'main.js') },
  resolve: { modules: [join(root, 'node_modules')] },
  external: (id) => !/^[./]/.test(id) && !packages.some((name) => id === name || id.startsWith(`${name}/`)),
})
await bundle.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].js',
  // A piece names what it takes of another by letters that the next version gives to something else. So a piece of that
  // version has another name: a process under which it is installed finds none of it, instead of a wrong one.
  chunkFileNames: `${pieces}/[name]-[hash].js`,
  hashCharacters: 'hex',
})
await bundle.close()
for (const name of compiled) if (name !== 'main.js') await rm(join(folder, name), { recursive: true, force: true })
// Anyone who gives a copy away gives its licence with it.
for (const name of packages) {
  await copyFile(join(root, 'node_modules', name, 'LICENSE'), join(folder, pieces, `${name}-LICENSE`))
}
