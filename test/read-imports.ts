import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const importing = /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s*(['"])([^'"\n]+)\1/g
const bare = /(?:^|\n)\s*import\s*(['"])([^'"\n]+)\1/g
const dynamic = /\bimport\(\s*(['"])([^'"\n]+)\1/g

/** A source file: its path from src with forward slashes, its text, and the files of src that it imports. */
export type SourceFile = { path: string; text: string; imports: string[] }

/** What a text imports, as it says it. */
export function specifiersOf(text: string): string[] {
  return [importing, bare, dynamic].flatMap((form) => [...text.matchAll(form)].map((found) => found[2] ?? ''))
}

/** Every file under a source folder. @throws when one imports a file that is not there, which would go unjudged. */
export function readSources(folder: string): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      const imports = specifiersOf(text)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => {
          const target = resolve(dirname(join(folder, name)), specifier)
          if (!existsSync(target)) throw new Error(`src/${name} imports ${specifier}, which is not there`)
          return relative(folder, target).replaceAll('\\', '/')
        })
      return { path: name.replaceAll('\\', '/'), text, imports }
    })
}

/** One way round for every file that can reach itself, as `a → b → a`. */
export function cyclesOf(files: readonly Pick<SourceFile, 'path' | 'imports'>[]): string[] {
  const importsOf = new Map(files.map(({ path, imports }) => [path, imports]))
  const finished = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) {
      cycles.push([...trail.slice(at), path].join(' → '))
      return
    }
    if (finished.has(path)) return
    for (const next of importsOf.get(path) ?? []) visit(next, [...trail, path])
    finished.add(path)
  }
  for (const { path } of files) visit(path, [])
  return cycles
}
