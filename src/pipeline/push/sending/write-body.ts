import type { Transaction } from 'kysely'
import { outgoingRows } from '../../../db/ledger/outgoing-rows.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Submission } from '../../../db/tables/submission.ts'
import type { Deps } from '../../deps.ts'
import { searchKind } from '../../streams/kind-names.ts'
import { loadReferenceIndex } from '../../streams/rules/reference-index.ts'
import type { OutgoingRow } from '../bodies/body.ts'
import { streamBody } from '../bodies/stream-body.ts'
import { kindOf } from '../kinds.ts'

/**
 * What a submission says, as it would be sent now, in pieces of any length. Its rows are read on the way.
 * @param onChanged is called when rows have passed that are not what was planned.
 */
export async function* writeBody(
  { contract, config, required }: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  onChanged: () => void = () => {},
): AsyncGenerator<string> {
  if (submission.kind === searchKind) {
    const names = contract.names.calculatorsSearch
    yield JSON.stringify({
      [names.customPropertyIds]: config.pull.customPropertyIds,
      [names.calculatorTypeIds]: config.pull.calculatorTypeIds,
    })
    return
  }
  const context = {
    contract,
    reference: await loadReferenceIndex(trx),
    customIdentifierId: required.customIdentifierId,
    groupId: required.groupId,
    partition: submission.partition,
  }
  yield* streamBody(kindOf(contract, submission.kind).writeBody, rowsOf(trx, submission, onChanged), context)
}

async function* rowsOf(
  trx: Transaction<Schema>,
  { submission_id }: Submission,
  onChanged: () => void,
): AsyncGenerator<OutgoingRow[]> {
  for await (const rows of outgoingRows(trx, submission_id)) {
    if (rows.some(({ changed }) => changed)) onChanged()
    yield rows as OutgoingRow[]
  }
}
