import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { nightferry } from '../cli/nightferry-process.ts'
import { some } from '../helpers/some.ts'

const execute = promisify(execFile)

let script: string
beforeAll(async () => {
  const { code, stdout } = await nightferry('/', ['completion', 'bash'])
  expect(code).toBe(0)
  script = stdout
})

/** What bash offers for the last word of a line, after it has read the script as a person would have it read it. */
async function offered(...words: string[]): Promise<string[]> {
  const ask =
    'eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); complete -p nightferry >&2; _nightferry; declare -p COMPREPLY'
  const { stdout, stderr } = await execute('bash', ['--norc', '-c', ask, 'bash', script, 'nightferry', ...words], {
    cwd: new URL('../../config', import.meta.url),
  })
  expect(stderr).toBe('complete -F _nightferry nightferry\n')
  return [...stdout.matchAll(/\]="([^"]*)"/g)].map(([, word]) => word ?? '').sort()
}

test('bash completes verbs, their options, their words, and files', async () => {
  expect(await offered('re')).toEqual([
    'reference',
    'rehearse',
    'rejected',
    'report',
    'reread',
    'resend',
    'restore',
    'restore-backup',
    'retry',
  ])
  expect(await offered('retry', '--d')).toEqual(['--dry-run'])
  expect(await offered('destination', '')).toEqual(expect.arrayContaining(['other', 'same', '--name']))
  expect(await offered('resend', '--difference', '')).toEqual(['absent', 'any', 'different'])
  expect(await offered('status', '--config', 'de')).toEqual(['demo.yaml'])
  expect(await offered('config', 'p')).toEqual(['print'])
  expect(await offered('sandbox', '--po')).toEqual(['--port'])
  // What only a person knows is not completed by anything else.
  expect(await offered('retry', '--partner-id', '')).toEqual([])
})

test.each(['bash', 'zsh', 'fish'])('the script for %s names every verb and every long option', async (shell) => {
  const { code, stdout } = await nightferry('/', ['completion', shell])
  expect(code).toBe(0)
  const cli = {
    environment: {},
    workingFolder: '/',
    stdout: process.stdout,
    stderr: process.stderr,
    signal: new AbortController().signal,
    now: () => new Date(),
  }
  const program = await createProgram(cli, '0.0.0', ['sandbox'], () => {})
  for (const command of some(program.commands)) {
    expect(stdout).toContain(command.name())
    for (const { long } of command.options) expect(stdout).toContain((long ?? '').slice(2))
  }
})

test('a shell that is not known is refused with the ones that are', async () => {
  const { code, stderr } = await nightferry('/', ['completion', 'csh'])
  expect(code).toBe(2)
  expect(stderr).toContain('bash, zsh, fish')
})
