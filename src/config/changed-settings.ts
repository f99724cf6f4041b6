/** Settings by name, sections within sections. */
type Section = Record<string, unknown>

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The paths of the settings in which two configurations differ, in alphabetical order. A list is one setting, and so is
 * a section that one of the two does not have.
 */
export function changedSettings(before: Section, after: Section, above: readonly string[] = []): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap((name) => {
    const [old, now, path] = [before[name], after[name], [...above, name]]
    if (isSection(old) && isSection(now)) return changedSettings(old, now, path)
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [path.join('.')]
  })
}

/** Puts the values that `source` has at the paths into `target`, whose sections stay the same objects. */
export function takeOverSettings(target: Section, source: Section, paths: readonly string[]): void {
  for (const path of paths) {
    const names = path.split('.')
    const last = names.pop() ?? path
    const [to, from] = [sectionAt(target, names), sectionAt(source, names)]
    if (last in from) to[last] = from[last]
    else delete to[last]
  }
}

function sectionAt(settings: Section, names: readonly string[]): Section {
  return names.reduce((section, name) => section[name] as Section, settings)
}
