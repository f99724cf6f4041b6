import { dirname, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packagedConfig } from './read-config.ts'

/** The program's own main file, from the sources and from the build alike. */
export const mainFile = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../main.ts' : '../main.js', import.meta.url),
)

/** How a person in a folder calls this very program, and names a file of its config folder, on a command line. */
type Invocation = { program: string; config: (name: string) => string }

/**
 * A clone is called through its npm scripts, which start the Node.js that it brings, an installed package by its name.
 * From any other folder only whole paths are sure.
 */
export function invocationFrom(workingFolder: string): Invocation {
  const root = dirname(dirname(mainFile))
  const near = (name: string) => shellWord(relative(workingFolder, packagedConfig(name)))
  const far = (name: string) => shellWord(packagedConfig(name))
  if (!root.split(sep).includes('node_modules')) {
    if (root !== workingFolder) return { program: `${shellWord(process.execPath)} ${shellWord(mainFile)}`, config: far }
    return { program: mainFile.endsWith('.ts') ? 'npm run -s nightferry --' : 'node dist/main.js', config: near }
  }
  const project = root.slice(0, root.indexOf(`${sep}node_modules`))
  if (`${workingFolder}${sep}`.startsWith(`${project}${sep}`)) return { program: 'npx nightferry', config: near }
  return { program: root.includes(`${sep}_npx${sep}`) ? 'npx nightferry' : 'nightferry', config: far }
}

/** A word as a POSIX shell takes it. */
function shellWord(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
