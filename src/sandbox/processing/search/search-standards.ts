import type { Work } from '../work.ts'
import type { Element, Listing } from './write-pages.ts'

/** Every standard of the catalogue, whichever profile asks. Spec gap: the page is not shown, docs/spec-gaps.md. */
export function searchStandards(work: Work): Listing {
  const names = work.sandbox.contract.names.standardsPage
  async function* elements(): AsyncGenerator<Element[]> {
    yield work.sandbox.world.standards.map(({ id, title, levels }) => ({
      text: JSON.stringify({
        [names.id]: id,
        [names.title]: title,
        ...(levels.length > 0 && { [names.levels]: levels }),
      }),
    }))
  }
  return { array: names.standards, head: () => ({}), elements: elements() }
}
