import { createInterface, type Interface } from 'node:readline/promises'
import { type Readable, Writable } from 'node:stream'

/** Asks a person. */
export type Prompter = {
  ask(question: string): Promise<string>
  /** The same, and what is typed is not shown. */
  askHidden(question: string): Promise<string>
  /** One of several, by its number. */
  choose<T extends { name: string }>(question: string, choices: readonly T[]): Promise<T>
  close(): void
}

type Terminal = { input: Readable; output: Writable; signal: AbortSignal }

/** Questions on a terminal, the answers read line by line. */
export function createPrompter({ input, output, signal }: Terminal): Prompter {
  let hidden = false
  // The interface echoes what is typed: while a secret is asked for, nothing of that is passed on.
  const echo = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!hidden) output.write(chunk)
      done()
    },
  })
  const lines: Interface = createInterface({ input, output: echo, terminal: true })
  const ask = async (question: string) => {
    const answer = (await lines.question(`${question} `, { signal })).trim()
    return answer
  }
  return {
    ask,
    askHidden: async (question) => {
      output.write(`${question} (it is not shown) `)
      hidden = true
      try {
        return (await lines.question('', { signal })).trim()
      } finally {
        hidden = false
        output.write('\n')
      }
    },
    choose: async (question, choices) => {
      for (const [index, { name }] of choices.entries()) output.write(`  ${index + 1}  ${name}\n`)
      for (;;) {
        const chosen = choices[Number(await ask(`${question} (1 to ${choices.length})`)) - 1]
        if (chosen !== undefined) return chosen
      }
    },
    close: () => lines.close(),
  }
}
