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

/** A file anywhere in the project, by its whole path. */
export type ReadingFile = { file: string; text: string }

const named = /^(?:import|export)\s+(?:type\s+)?([^'";]*?)\s*from\s+'(\.[^']+)'/gm
const exported =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|class|type|interface|enum)\s+(\w+)/gm

/**
 * What files export and none of the readers imports, as `file: name`. A file that is imported as a whole is not judged.
 */
export function unusedExports(files: readonly ReadingFile[], readers: readonly ReadingFile[]): string[] {
  const used = new Map<string, Set<string>>()
  for (const { file, text } of readers) {
    for (const { specifier, names } of [...namesOf(text), ...namesOfDynamic(text)]) {
      const target = resolve(dirname(file), specifier)
      used.set(target, new Set([...(used.get(target) ?? []), ...names]))
    }
  }
  return files.flatMap(({ file, text }) => {
    const names = used.get(file) ?? new Set()
    if (names.has('*')) return []
    return [...text.matchAll(exported)].flatMap(([, name = '']) => (names.has(name) ? [] : [`${file}: ${name}`]))
  })
}

/**
 * Exports that the readers of the program do not import and that their own file does not use: only tests or benches
 * can, so they belong there. As `file: name`.
 */
export function onlyUsedOutside(files: readonly ReadingFile[], readers: readonly ReadingFile[]): string[] {
  const texts = new Map(files.map(({ file, text }) => [file, text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')]))
  return unusedExports(files, readers).filter((one) => {
    const [file = '', name = ''] = one.split(': ')
    return (texts.get(file)?.match(new RegExp(`(?<![\\w$])${name}(?![\\w$])`, 'g')) ?? []).length < 2
  })
}

type Imported = { specifier: string; names: string[] }

function namesOf(text: string): Imported[] {
  return [...text.matchAll(named)].map(([, what = '', specifier = '']) => {
    const list = /\{([^}]*)\}/.exec(what)?.[1] ?? ''
    return { specifier, names: what.includes('*') ? ['*'] : listed(list) }
  })
}

/** `(await import('./a.ts')).one`, `const { one } = await import('./a.ts')`, `import('./a.ts').then(({ one }) …`. */
function namesOfDynamic(text: string): Imported[] {
  return [...text.matchAll(/\bimport\('(\.[^']+)'\)/g)].map((found) => {
    const before = text.slice(Math.max(0, found.index - 200), found.index)
    const after = text.slice(found.index + found[0].length, found.index + found[0].length + 200)
    const member = /^\)\s*\.(\w+)/.exec(after)?.[1]
    const list = /^\s*\.then\(\s*\(\{([^}]*)\}/.exec(after)?.[1] ?? /\{([^{}]*)\}\s*=\s*await\s*$/.exec(before)?.[1]
    return {
      specifier: found[1] ?? '',
      names: member !== undefined ? [member] : list !== undefined ? listed(list) : ['*'],
    }
  })
}

function listed(list: string): string[] {
  return list
    .split(',')
    .map(
      (name) =>
        name
          .trim()
          .replace(/^type\s+/, '')
          .split(/\s+as\s+|:/)[0]
          ?.trim() ?? '',
    )
    .filter((name) => name !== '')
}
