import { endpointSections } from './endpoint-sections.ts'
import type { Entry, IdOf, Section } from './entry.ts'
import { eventSections } from './event-sections.ts'
import { resourceSections } from './resource-sections.ts'
import { ruleSections } from './rule-sections.ts'
import { serviceSections } from './service-sections.ts'
import { stateSections } from './state-sections.ts'

const sections = [
  ...serviceSections,
  ...resourceSections,
  ...stateSections,
  ...endpointSections,
  ...eventSections,
  ...ruleSections,
] as const

export type EntryId = IdOf<typeof sections>

/** Every numbered rule, table row, bullet and "not shown" of the specification, section by section, in its order. */
export const outline: readonly Section<EntryId>[] = sections

/** The same without the headings. */
export const outlineEntries: readonly Entry<EntryId>[] = outline.flatMap(({ entries }) => [...entries])
