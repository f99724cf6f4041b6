import { afterAll, expect, it } from 'vitest'
import { shortId as id, openHistory } from '../../pipeline/pull/history-nights.ts'
import { calculator, company, type SampleCompany } from '../../pipeline/pull/sample-page.ts'

const { database, night, history } = await openHistory()
afterAll(() => database[Symbol.asyncDispose]())

it('the history of twenty nights of made-up changes is what a bookkeeper would write down', async () => {
  const random = generator(7)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const names = ['A', 'B', 'C', 'D']
  const book = new Map<string, { value: string; first: number; last: number; end: number | null }[]>()
  for (let number = 1; number <= 20; number++) {
    const present = names.filter(() => random() < 0.8)
    const companies = new Map(present.map((name) => [name, company(name, { calculators: [] })]))
    const shown = new Map<string, string>()
    for (const k of ['k1', 'k2', 'k3', 'k4', 'k5', 'k6']) {
      const owner = random() < 0.8 ? companies.get(pick(names)) : undefined
      if (owner === undefined) continue
      const inputs = Object.fromEntries(['gas', 'oil'].filter(() => random() < 0.7).map((v) => [v, pick(['1', '2'])]))
      owner.calculators.push(calculator(k, { inputs, outputs: {} }))
      for (const [variable, value] of Object.entries(inputs)) shown.set(`${owner.name} ${id(k)} ${variable}`, value)
    }
    const pages: SampleCompany[][] = [[], []]
    for (const one of companies.values()) pick(pages).push(one)
    await night(pages)
    for (const key of new Set([...book.keys(), ...shown.keys()])) {
      const stints = book.get(key) ?? []
      book.set(key, stints)
      const standing = stints.find(({ end }) => end === null)
      const value = shown.get(key)
      if (standing !== undefined && standing.value === value) standing.last = number
      else {
        if (standing !== undefined) standing.end = number
        if (value !== undefined) stints.push({ value, first: number, last: number, end: null })
      }
    }
  }
  const written = [...book].flatMap(([key, stints]) =>
    stints.map(
      ({ value, first, last, end }) => `${key}=${value} ${first}-${last} ${end === null ? 'stands' : `until ${end}`}`,
    ),
  )
  expect(written.length).toBeGreaterThan(60)
  expect(await history()).toEqual(written.sort())
})

/** Numbers from 0 to 1 that are the same in every run. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
