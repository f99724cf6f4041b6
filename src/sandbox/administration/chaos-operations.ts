import { z } from 'zod'
import { ChaosRefused, checkChaos } from '../chaos/parse-chaos.ts'
import { profiles } from '../chaos/profiles.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from '../server/operation.ts'

const chaosBody = z.strictObject({
  profiles: z.record(z.string(), z.number()).meta({
    description: 'The share of occasions that each named profile strikes, from 0 (off) to 1. The others are off.',
  }),
})
const chaosAnswer = z.object({
  profiles: z.array(
    z.object({
      name: z.string(),
      what: z.string().meta({ description: 'What happens to what it strikes.' }),
      share: z.number().nullable().meta({ description: 'The share of occasions that it strikes; null: off.' }),
    }),
  ),
})

/** Trouble on demand: which profiles there are, and which are on. */
export function chaosOperations({ chaos }: Pick<Sandbox, 'chaos'>): Operation[] {
  const tag = 'Chaos'
  const shown = () => ({
    profiles: profiles.map(({ name, what }) => ({ name, what, share: chaos.active().get(name) ?? null })),
  })
  return [
    operation({
      id: 'readChaos',
      method: 'GET',
      path: '/sandbox/chaos',
      tag,
      summary: 'Every profile of trouble, and the share of occasions that it strikes',
      answers: { 200: { description: 'All profiles.', schema: chaosAnswer } },
      handle: shown,
    }),
    operation<z.infer<typeof chaosBody>>({
      id: 'setChaos',
      method: 'PUT',
      path: '/sandbox/chaos',
      tag,
      summary: 'Switches profiles on and off',
      description:
        'The named profiles are on from now on, and no other. What was decided by counting begins again, so that the ' +
        'same seed and the same calls bring the same trouble.',
      body: chaosBody,
      answers: { 200: { description: 'All profiles.', schema: chaosAnswer } },
      handle: ({ body }) => {
        chaos.replace(checked(body.profiles))
        return shown()
      },
    }),
  ]
}

/** @throws {RequestRefused} 400 with the list of names, for an unknown name and a share outside 0 to 1. */
function checked(shares: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
  try {
    return checkChaos(Object.entries(shares))
  } catch (error) {
    if (error instanceof ChaosRefused) throw new RequestRefused(400, 'chaos_invalid', error.message)
    throw error
  }
}
