import { choiceOf } from '../profile.ts'
import { contentCases } from './content-cases.ts'
import type { PageCase } from './page-case.ts'
import { structureCases } from './structure-cases.ts'
import { textCases } from './text-cases.ts'

const cases = { ...structureCases, ...textCases, ...contentCases }

export type PageCaseName = keyof typeof cases

export const pageCases: Readonly<Record<PageCaseName, PageCase>> = cases

/** Any case, or one of them by its name. */
export const malformedPages = choiceOf(
  { name: 'malformed-pages', what: 'A result file is wrong in one of the ways that are listed below.', share: 0.1 },
  'malformed-page',
  Object.fromEntries(Object.entries(cases).map(([name, { what }]) => [name, what])) as Record<PageCaseName, string>,
)
