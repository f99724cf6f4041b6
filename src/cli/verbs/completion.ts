import type { Command, Option } from 'commander'
import { type Cli, type ExitCode, exitCodes } from '../cli.ts'

/** `nightferry completion <shell>`: prints the script by which a shell completes the command line. */
export function completion(cli: Cli, program: Command, shell: Shell): ExitCode {
  cli.stdout.write(completionScript(program, shell))
  return exitCodes.well
}

/** What may follow an option: nothing, a file, a text of one's own, or one of some words. */
type Values = 'none' | 'file' | 'text' | readonly string[]

type KnownOption = { flags: string[]; values: Values; help: string }

type KnownVerb = { name: string; help: string; words: string[]; options: KnownOption[] }

export type Shell = 'bash' | 'zsh' | 'fish'

/** The script by which a shell completes our command line. It knows the verbs of the version that printed it. */
function completionScript(program: Command, shell: Shell): string {
  const verbs = program.commands.map(knownVerb).toSorted((a, b) => a.name.localeCompare(b.name))
  const scripts = { bash: forBash, zsh: forZsh, fish: forFish }
  return `${scripts[shell](program.name(), verbs)}\n`
}

function knownVerb(command: Command): KnownVerb {
  const within = command.commands.flatMap(({ options }) => options)
  const words = [...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)]
  return {
    name: command.name(),
    help: plain(command.summary() || command.description()),
    words: [...command.commands.map((each) => each.name()), ...words],
    options: [...[...command.options, ...within].map(knownOption), { flags: ['--help'], values: 'none', help: 'help' }],
  }
}

function knownOption({ short, long, required, argChoices, flags, description }: Option): KnownOption {
  const values = argChoices ?? (/<(file|folder)>/.test(flags) ? 'file' : required ? 'text' : 'none')
  return { flags: [short, long].filter((flag) => flag !== undefined), values, help: plain(description) }
}

/** One line, without what any of the shells would take for more than text. */
function plain(text: string): string {
  return text.split('\n')[0]?.replaceAll(/["'`$\\[\]:]/g, '') ?? ''
}

function forBash(name: string, verbs: readonly KnownVerb[]): string {
  const values = verbs.flatMap((verb) =>
    verb.options
      .filter(({ values }) => values !== 'none')
      .map(
        ({ flags, values }) =>
          `    ${flags
            .map((flag) => `${verb.name}' '${flag}`)
            .map(quoted)
            .join('|')}) ${bashValues(values)} ;;`,
      ),
  )
  const words = verbs.map(({ name: verb, words, options }) => {
    const all = [...words, ...options.flatMap(({ flags }) => flags)].join(' ')
    return `    ${verb}) COMPREPLY=($(compgen -W '${all}' -- "$current")) ;;`
  })
  return `# ${name} completion for bash: source <(${name} completion bash)
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} verb='' word
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    case $word in -*) ;; *) verb=$word && break ;; esac
  done
  if [ -z "$verb" ]; then
    COMPREPLY=($(compgen -W '${[...verbs.map((verb) => verb.name), '--help', '--version'].join(' ')}' -- "$current"))
    return
  fi
  case "$verb $previous" in
${values.join('\n')}
  esac
  case $verb in
${words.join('\n')}
  esac
}
complete -F _${name} ${name}`
}

function quoted(pattern: string): string {
  return `'${pattern.replace("' '", ' ')}'`
}

function bashValues(values: Values): string {
  if (values === 'file') return 'COMPREPLY=($(compgen -f -- "$current")); return'
  if (typeof values === 'string') return 'return'
  return `COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$current")); return`
}

function forZsh(name: string, verbs: readonly KnownVerb[]): string {
  const cases = verbs.map(({ name: verb, words, options }) => {
    const specs = options.flatMap(({ flags, values, help }) =>
      flags.map((flag) => `'${flag}[${help}]${zshValues(values)}'`),
    )
    const following = words.length > 0 ? [`'*: :(${words.join(' ')})'`] : ["'*: :'"]
    return `    ${verb}) _arguments ${[...specs, ...following].join(' ')} ;;`
  })
  return `#compdef ${name}
# ${name} completion for zsh: source <(${name} completion zsh)
_${name}() {
  if (( CURRENT == 2 )); then
    local -a verbs=(${verbs.map((verb) => `'${verb.name}:${verb.help}'`).join(' ')})
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
${cases.join('\n')}
  esac
}
compdef _${name} ${name}`
}

function zshValues(values: Values): string {
  if (values === 'none') return ''
  if (values === 'file') return ':file:_files'
  return values === 'text' ? ':value: ' : `:value:(${values.join(' ')})`
}

function forFish(name: string, verbs: readonly KnownVerb[]): string {
  const lines = verbs.flatMap((verb) => {
    const seen = `complete -c ${name} -n '__fish_seen_subcommand_from ${verb.name}'`
    return [
      `complete -c ${name} -n __fish_use_subcommand -f -a ${verb.name} -d '${verb.help}'`,
      ...(verb.words.length > 0 ? [`${seen} -f -a '${verb.words.join(' ')}'`] : []),
      ...verb.options.map(({ flags, values, help }) => {
        const named = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
        return `${seen} ${named.join(' ')}${fishValues(values)} -d '${help}'`
      }),
    ]
  })
  return `# ${name} completion for fish: ${name} completion fish | source\n${lines.join('\n')}`
}

function fishValues(values: Values): string {
  if (values === 'none') return ' -f'
  if (values === 'file') return ' -r'
  return values === 'text' ? ' -x' : ` -x -a '${values.join(' ')}'`
}
