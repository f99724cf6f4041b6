import type { Config } from '../../config/schema.ts'
import type { Message } from './message.ts'

/** A message as the receiver of a format reads it. Pure. */
export function bodyOf(message: Message, format: Config['notify']['format']): object {
  if (format === 'slack') return { text: linesOf(message).map(slackText).join('\n') }
  if (format === 'teams') return teamsCard(message)
  return message
}

/** A message as lines of text: the sentence, then the causes. Pure. */
export function linesOf({ sentence, causes }: Message): string[] {
  return [
    sentence,
    ...causes.map(({ what, rows, verb }) => `• ${rows === null ? '' : rowsWords(rows)}${what}: ${verb}`),
  ]
}

function rowsWords(rows: number): string {
  return `${rows} ${rows === 1 ? 'row' : 'rows'} `
}

/** Slack reads these three as markup, also where a hotel's name has them. */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function teamsCard(message: Message): object {
  const [first, ...rest] = linesOf(message)
  const block = (text: string, weight: string) => ({ type: 'TextBlock', text, weight, wrap: true })
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [block(first ?? '', 'Bolder'), ...rest.map((text) => block(text, 'Default'))],
        },
      },
    ],
  }
}
