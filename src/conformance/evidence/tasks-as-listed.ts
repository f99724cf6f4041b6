import type { Bench } from '../bench.ts'
import type { Answer } from '../wire.ts'

/** The newest tasks, asked for again. */
export async function listTasks(bench: Bench): Promise<Answer> {
  const answer = await bench.wire.call(bench.contract.endpoints.tasks)
  if (answer.status !== 200) bench.note('error', answer.json)
  return answer
}
