/** The heading of the section that is not released yet, with its version. */
const open = /^## \[(\d+\.\d+\.\d+)\] - not released yet$/m

/**
 * Closes the open section of a changelog: puts the day in the place of "not released yet".
 * @returns the changelog, and the text of the section for those who read what is new.
 * @throws {Error} if no section of that version is open, or there is nothing in it.
 */
export function closeSection(changelog: string, version: string, day: string): { changelog: string; section: string } {
  const found = open.exec(changelog)
  if (found?.[1] !== version) {
    throw new Error(`CHANGELOG.md has no section "## [${version}] - not released yet": write what is new there`)
  }
  const closed = changelog.replace(open, `## [${version}] - ${day}`)
  const body = closed.slice(closed.indexOf('\n', found.index) + 1)
  const section = body.slice(0, /^## /m.exec(body)?.index).trim()
  if (!/^- /m.test(section)) throw new Error(`CHANGELOG.md says nothing under [${version}]`)
  return { changelog: closed, section }
}
