import { companyIdAt } from '../../src/sandbox/hotels.ts'
import { conform, openService, seed, writing } from '../conformance/conform.ts'
import type { BrokenRule } from './broken-rule.ts'
import { type BrokenService, openBrokenService } from './broken-service.ts'

/** One sandbox for all rules of a test file, and the proxy in front of it. */
export async function openBroken(): Promise<BrokenService> {
  const sandbox = await openService({ companies: 30, pageSize: 8, calculators: true, allowInsecureWebhooks: true })
  const service = await openBrokenService(sandbox)
  // The hotel is mapped and has values, so that pages show them.
  await conform(service.url, { ...everything, only: ['mapping/stored', 'service/area-imports'] })
  return {
    ...service,
    close: async () => {
      await service.close()
      await sandbox.close()
    },
  }
}

export const everything = {
  administration: true,
  writing: { ...writing, companyId: companyIdAt(seed, 3) },
  certifierKey: 'certifier-key',
  siblingKey: 'sibling-key',
  limits: { callMs: 20_000, pollMs: 20, taskMs: 15_000, totalMs: 180_000 },
}

/** Leave to write what is not there before, so that what comes back proves that it was stored. */
export const freshly = (year: number) => ({ ...everything.writing, identifier: `H-7-in-${year}`, year })

/** What is judged by what comes back of a year: proof only in one that was empty before. */
const byYear = /^(answers\/|mapping\/stored$)/
let lastYear = writing.year

function writingFor(statement: string) {
  if (!byYear.test(statement)) return everything.writing
  lastYear -= 1
  return statement === 'mapping/stored' ? freshly(lastYear) : { ...everything.writing, year: lastYear }
}

/** What the suite says of a statement while the service breaks a rule, and how often the rule was broken. */
export async function judgeBroken(service: BrokenService, { statement, hooks, taskMs }: BrokenRule) {
  const limits = { ...everything.limits, ...(taskMs !== undefined && { taskMs }) }
  const writing = writingFor(statement)
  const breaking = service.break(hooks(writing.year))
  const { entries } = await conform(service.url, { ...everything, writing, limits, only: [statement] })
  return { verdict: entries[0]?.verdict, seen: entries[0]?.seen, isBroken: breaking.changes() > 0 }
}
