import { AnswerFormatError, HttpError, saysUnknown } from '../../exchange/errors.ts'
import type { FrameworkIndex } from '../../exchange/reference-data.ts'
import type { Deps } from '../deps.ts'

type Frameworks = Pick<Deps['exchange'], 'getFrameworks' | 'getFramework'>

/**
 * The frameworks that the service lists, without those that it then refuses in its own words: one can be withdrawn
 * between the list and its own answer, or be listed for longer than this key may read it. That counts as not listed,
 * and ends no run.
 *
 * @param leftOut is told of each that is left out.
 * @throws {HttpError} the refusal, where the service refuses every framework that it lists: it is not about one.
 */
export async function readableFrameworks(
  exchange: Frameworks,
  leftOut: (id: string, refusal: HttpError) => void,
): Promise<FrameworkIndex[]> {
  const frameworks: FrameworkIndex[] = []
  const refusals: [string, HttpError][] = []
  for (const { id } of await exchange.getFrameworks()) {
    try {
      frameworks.push(await readFramework(exchange, id))
    } catch (error) {
      if (!isWithdrawn(error)) throw error
      refusals.push([id, error])
    }
  }
  const [first] = refusals
  if (first !== undefined && frameworks.length === 0) throw first[1]
  for (const [id, refusal] of refusals) leftOut(id, refusal)
  return frameworks
}

async function readFramework(exchange: Frameworks, id: string): Promise<FrameworkIndex> {
  const framework = await exchange.getFramework(id)
  // A cache that mixes answers up must not judge rows by the wrong framework.
  if (framework.id.toLowerCase() !== id.toLowerCase()) {
    throw new AnswerFormatError(`asked for framework ${id}, answered with ${framework.id}`)
  }
  return framework
}

/** A 403 without an errorCode is that of somebody on the way, as a 404 is. */
function isWithdrawn(error: unknown): error is HttpError {
  if (saysUnknown(error)) return true
  return error instanceof HttpError && error.code === 'exchange_forbidden' && error.errorCode !== null
}
