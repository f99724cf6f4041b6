import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import type { Cli } from '../../src/cli/cli.ts'
import { createProgram } from '../../src/cli/program.ts'
import { namedVariables } from '../../src/config/environment.ts'
import { streamNames } from '../../src/config/schema.ts'
import { streamShapes } from '../../src/pipeline/delta/stream-rows.ts'
import { firstCells, readPage, section } from './pages.ts'

const readme = readPage('README.md')

test.each(streamNames)('the README lists the columns of the stream %s as the program reads them', (stream) => {
  expect(firstCells(section(readme, `\`${stream}\``))).toEqual(streamShapes[stream].columns)
})

test('the README describes exactly the streams that can be configured', () => {
  const described = [...section(readme, 'Streams and their columns').matchAll(/^### `(\w+)`$/gm)].flatMap(
    (match) => match[1] ?? [],
  )
  expect(described.sort()).toEqual([...streamNames].sort())
})

test('the README lists exactly the verbs of the program', async () => {
  const listed = firstCells(section(readme, 'Verbs'))
    .filter((cell) => cell.startsWith('nightferry '))
    .map((cell) => cell.replace('nightferry ', '').replace('run nightly-sync', 'run'))
  expect(listed.sort()).toEqual(verbsOf(await program()).sort())
})

test('the README names exactly the short environment variables', () => {
  const named = firstCells(section(readme, 'Use it on your own database'))
  expect(named.sort()).toEqual(Object.keys(namedVariables).sort())
})

/** Every verb that does something, a verb of two words as both. */
function verbsOf(command: Command): string[] {
  return command.commands.flatMap((verb) =>
    verb.commands.length === 0 ? [verb.name()] : verb.commands.map((inner) => `${verb.name()} ${inner.name()}`),
  )
}

async function program(): Promise<Command> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const cli: Cli = {
    environment: {},
    workingFolder: '/',
    stdout: nowhere,
    stderr: nowhere,
    signal: new AbortController().signal,
    now: () => new Date(0),
  }
  return await createProgram(cli, '0.0.0', [], () => {})
}
