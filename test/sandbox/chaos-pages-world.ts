import { electricity } from '../../src/sandbox/catalogue/calculator-types.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { calculators, inputsOf, mapHotels, partnerId } from './bodies.ts'
import type { Page, Task } from './documents.ts'
import type { OpenSandbox } from './open-sandbox.ts'

/** Has the first hotels mapped, and gives them monthly calculators. */
export async function fill(sandbox: OpenSandbox): Promise<void> {
  const numbers = [1, 2, 3, 4]
  await sandbox.run('companyMappings', mapHotels(...numbers))
  const months = ['January', 'February']
  const inputs = numbers.flatMap((number) =>
    months.map((month) => inputsOf(partnerId(number), { year: 2025, month }, { [electricity.id]: '12.50' })),
  )
  await sandbox.run('calculatorsUpsert', calculators(inputs))
}

/** A finished search of all companies with everything that a page can hold. */
export function search(sandbox: OpenSandbox): Promise<Task> {
  return sandbox.run('calculatorsSearch', { customPropertyIds: [catalogue.customIdentifierId] })
}

/** The addresses of the pages, as they are given at this moment. */
export async function pageUrls(sandbox: OpenSandbox, task: Task): Promise<string[]> {
  return (await sandbox.task(task.correlationId)).pageUrls ?? []
}

export function companyIds(page: Page): string[] {
  return page.companies.map(({ id }) => id)
}
