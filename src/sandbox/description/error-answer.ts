import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { document, oncePer } from './document.ts'

/** What every error is answered with (specification, Errors). */
export const errorAnswer = oncePer((contract: Contract) =>
  document(contract.names.error, {
    errorCode: z.string().min(1).meta({
      description: 'Stable within a version. New codes can appear: an unknown one is a failure of its status class.',
    }),
    message: z.string().min(1).meta({ description: 'For people. Its wording can change and is not to be parsed.' }),
  }).meta({ id: 'Error' }),
)
