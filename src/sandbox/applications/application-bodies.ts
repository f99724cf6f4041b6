import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { idText, list, objectAsSent, text, wire } from '../requests/wire-spelling.ts'
import type { SentAnswer } from './change-application.ts'

/** Names of the members of both bodies. */
type BodyNames = { status: string; answers: string; dataPointId: string; answer: string }

/** `{ status }`: which names there are is judged later, so that the refusal can name them. */
export function statusBody(names: BodyNames): z.ZodType<{ status: string }> {
  return wire(names, { status: text })
}

/** `{ answers: [{ dataPointId, answer }] }`; an answer is spelt as in the framework answers upsert. */
export function answersBody(contract: Contract, names: BodyNames): z.ZodType<{ answers: SentAnswer[] }> {
  const spelt = contract.names.frameworkAnswers
  const date = z.iso.date().optional()
  const value = objectAsSent(
    z.looseObject({
      [spelt.text]: z.string().optional(),
      [spelt.number]: z.number().optional(),
      [spelt.boolean]: z.boolean().optional(),
      [spelt.dateIso]: date,
      [spelt.dateRangeFrom]: date,
      [spelt.dateRangeTo]: date,
      [spelt.list]: z.array(z.string()).optional().meta({ description: 'Ids of options.' }),
    }),
  )
  const answer = wire(names, { dataPointId: idText.meta({ format: 'uuid' }), answer: value })
  return wire(names, { answers: list(answer) })
}
