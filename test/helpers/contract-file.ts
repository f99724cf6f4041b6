import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { temporaryFile } from '../config/temporary-file.ts'

const packaged = fileURLToPath(new URL('../../config/contract.yaml', import.meta.url))

/** A contract file like the one that comes with Nightferry, with kinds of request that a deployment adds. */
export function contractFileWith(kinds: unknown): string {
  const document = parse(readFileSync(packaged, 'utf8')) as Record<string, unknown>
  return temporaryFile(stringify({ ...document, kinds }), 'contract.yaml')
}

/** The same with the section as a person writes it. */
export function contractFileWithText(kinds: string): string {
  return temporaryFile(
    readFileSync(packaged, 'utf8').replace('\nkinds: {}\n', () => `\n${kinds}\n`),
    'contract.yaml',
  )
}

/** The section `kinds` that config/contract.yaml has in its comments, uncommented. */
export function commentedKinds(): string {
  const [, example] = readFileSync(packaged, 'utf8').split('with the list of its certificates.\n#\n')
  return (example ?? '').replaceAll(/^# ?/gm, '')
}
