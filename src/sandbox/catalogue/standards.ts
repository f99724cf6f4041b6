import { uuidFrom } from '../uuid-from.ts'

/** A certification or commitment that a company can hold; `levels` is empty where it has none. */
export type Standard = { id: string; title: string; levels: readonly string[] }

function standard(title: string, ...levels: string[]): Standard {
  return { id: uuidFrom(`standard ${title}`), title, levels }
}

export const standards: readonly Standard[] = [
  standard('Green Lantern', 'Bronze', 'Silver', 'Gold'),
  standard('Blue Horizon'),
  standard('Net Zero Pledge', 'Committed', 'Verified'),
]
