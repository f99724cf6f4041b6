import { allWords, present, type RowContent, shown, text } from './rules/row-content.ts'
import { columnWords, type Stream } from './stream.ts'

const switches = ['automatic_yearly_calculation', 'automatic_publishing'] as const
const meaning = '`true`, `false`, or null to leave the setting as it is.'

/** Specification: Calculator upsert request. */
export const calculatorSettings: Stream = {
  about: 'At most one row per hotel.',
  columns: {
    partner_id: columnWords.partner_id,
    automatic_yearly_calculation: meaning,
    automatic_publishing: meaning,
  },
  table: { all: ['partner_id'], any: switches, telling: switches },
  kind: 'calculators',
  toRow: (settings, partnerId) => ({
    partnerId,
    rowKey: partnerId,
    content: present(settings),
  }),
  check: checkSettings,
  words: allWords,
}

function checkSettings(content: RowContent): string | null {
  for (const name of switches) {
    const value = text(content, name)
    if (value !== null && value !== 'true' && value !== 'false') {
      return `${name} '${shown(value)}' is neither true nor false`
    }
  }
  return switches.every((name) => text(content, name) === null)
    ? 'neither switch is set: there is nothing to send'
    : null
}
