import type { Contract } from '../../../exchange/contract.ts'
import { CompanyListFinder, CompanyScanner } from '../../reading/company-scanner.ts'
import { kindOf } from '../kinds.ts'

/** We wrote the body ourselves: nothing in it needs a bound. */
const unbounded = { maxDepth: Number.POSITIVE_INFINITY, maxElementSize: Number.POSITIVE_INFINITY }

/**
 * The elements of a request's body that are one hotel's, each as the text that was sent. One element is in memory at a
 * time.
 * @throws {StopRun} `kind_unknown`, where the contract does not know the kind any more.
 */
export async function* elementsOfHotel(
  contract: Contract,
  kindName: string,
  partnerId: string,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<string> {
  const { elements } = kindOf(contract, kindName)
  const around = new CompanyListFinder(elements.list(contract))
  const inside = new CompanyScanner(unbounded)
  let parts: Uint8Array[] = []
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; ) {
      if (!inside.open) {
        at = around.find(chunk, at)
        if (at === chunk.length) break
        inside.begin()
      }
      const end = inside.scan(chunk, at)
      parts.push(chunk.subarray(at, end))
      at = end
      if (inside.open) continue
      const text = Buffer.concat(parts).toString()
      parts = []
      if (elements.isOf(contract, JSON.parse(text), partnerId)) yield text
    }
  }
}
