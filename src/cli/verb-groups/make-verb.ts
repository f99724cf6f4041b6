import type { Command } from 'commander'

/**
 * Makes a verb with the options of all verbs: `summary` stands in the list of verbs, `details` in the verb's own help.
 */
export type MakeVerb = (name: string, summary: string, details?: string) => Command
