import { Writable } from 'node:stream'
import type { Argument, Command, Option } from 'commander'
import type { Cli } from '../../src/cli/cli.ts'
import { createProgram } from '../../src/cli/program.ts'
import { blocks, code, sentence, table } from './markdown.ts'

/** Every verb with its arguments and options, as it stands in docs/verbs.md. */
export async function verbReference(): Promise<string> {
  const verbs = verbsOf(await program())
  const common = commonOptions(verbs)
  const list = verbs.map((verb) => [
    `[${code(nameOf(verb))}](#${anchorOf(headingOf(verb))})`,
    sentence(verb.summary() || verb.description()),
  ])
  return blocks([
    '## All verbs',
    table(['Verb', 'What it does'], list),
    '## Options of every verb',
    `Every verb but ${allOf(verbs.filter((verb) => !takesConfig(verb)).map((verb) => code(`nightferry ${nameOf(verb)}`)))} takes these:`,
    table(['Option', 'Meaning'], common.map(optionRow)),
    ...verbs.map((verb) => verbPart(verb, common)),
  ])
}

/** Every verb that does something. One with verbs of its own does so itself if it takes options; else it is a word. */
export function verbsOf(program: Command): Command[] {
  return program.commands.flatMap((verb) => {
    if (verb.commands.length === 0) return [verb]
    return verb.options.length === 0 ? verb.commands : [verb, ...verb.commands]
  })
}

/** The words that call a verb, without the program's name: `config print`. */
export function nameOf(verb: Command): string {
  const { parent } = verb
  return parent === null || parent.parent === null ? verb.name() : `${parent.name()} ${verb.name()}`
}

/** The program with every option of every verb. Nothing is called, so it is given nothing to act on. */
export async function program(): Promise<Command> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const cli: Cli = {
    environment: {},
    workingFolder: '/',
    stdout: nowhere,
    stderr: nowhere,
    signal: new AbortController().signal,
    now: () => new Date(0),
  }
  // The options of the sandbox are loaded when the command line names it.
  return await createProgram(cli, '0.0.0', ['sandbox'], () => {})
}

function verbPart(verb: Command, common: readonly Option[]): string {
  const own = verb.options.filter((option) => !common.some((one) => isSame(one, option)))
  const groups = [...new Set(own.map(({ helpGroupHeading }) => helpGroupHeading ?? ''))]
  return blocks([
    `## ${headingOf(verb)}`,
    ...verb.description().split('\n\n').map(sentence),
    table(['Argument', 'Meaning'], verb.registeredArguments.map(argumentRow)),
    ...groups.flatMap((group) => [
      group,
      table(['Option', 'Meaning'], own.filter((option) => (option.helpGroupHeading ?? '') === group).map(optionRow)),
    ]),
  ])
}

function headingOf(verb: Command): string {
  return code(['nightferry', nameOf(verb), ...verb.registeredArguments.map(spelt)].join(' '))
}

function spelt(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`
}

function argumentRow(argument: Argument): string[] {
  return [code(spelt(argument)), sentence(argument.description)]
}

function optionRow({ flags, description, defaultValue, argChoices }: Option): string[] {
  const choices = argChoices === undefined ? '' : `: ${argChoices.map(code).join(', ')}`
  const fallback = defaultValue === undefined ? '' : ` (default: ${code(String(defaultValue))})`
  return [code(flags), sentence(`${description}${choices}${fallback}`)]
}

/** The options that the verbs which read the configuration share, as the first of them has them. */
function commonOptions(verbs: readonly Command[]): readonly Option[] {
  const [first, ...others] = verbs.filter((verb) => verb.parent?.parent === null && takesConfig(verb))
  return (first?.options ?? []).filter((option) =>
    others.every((verb) => verb.options.some((other) => isSame(option, other))),
  )
}

/** Whether a verb reads the configuration: with an option of its own, or with that of the verb that it belongs to. */
function takesConfig(verb: Command): boolean {
  const options = [...verb.options, ...(verb.parent?.options ?? [])]
  return options.some(({ long }) => long === '--config')
}

function allOf(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

function isSame(one: Option, other: Option): boolean {
  return one.flags === other.flags && one.description === other.description
}

/** The anchor that code hosts make of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
