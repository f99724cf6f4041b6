import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A file with this text, which is gone when the test has ended. */
export function temporaryFile(text: string, name = 'nightferry.yaml'): string {
  const folder = mkdtempSync(join(tmpdir(), 'nightferry-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}
