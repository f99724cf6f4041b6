import type { Bench } from '../bench.ts'
import { at, objectsOf, type WireObject } from '../wire-json.ts'

/** The failed rows that a task names. */
export function failedRows({ contract }: Pick<Bench, 'contract'>, task: unknown): WireObject[] {
  const { error, rowErrors } = contract.names.task
  return objectsOf(at(task, error, rowErrors))
}
