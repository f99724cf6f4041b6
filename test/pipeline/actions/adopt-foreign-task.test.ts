import { beforeEach, describe, expect, it } from 'vitest'
import { adoptTask } from '../../../src/pipeline/actions/adopt-task.ts'
import { keyFingerprint } from '../../../src/pipeline/gate/shared-gate.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { apiKey } from '../../exchange/test-client.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'
import { type Answer, json, reset, service } from '../push/service.ts'

const named = '0b6c2f4e-0000-4000-8000-000000000001'
const other = '0b6c2f4e-0000-4000-8000-000000000002'
const post = '/api/v1/bulk/company-mappings'
const list = '/api/v2/bulk/tasks'
const anna = { user: 'anna', host: 'ferry1' }
const property = { partner_id: 'H-1', content: { name: 'Zur Brücke' } }

const ferry = await ofThisFile(openFerry())
beforeEach(async () => {
  await ferry.clear()
  await ferry.ledger.db.deleteFrom('service_key').execute()
})

const task = (correlationId: string, fields: object = {}) => ({
  correlationId,
  status: 'InProgress',
  taskKind: 'CompanyMappingRequest',
  requestType: null,
  createdAt: new Date().toISOString(),
  ...fields,
})

/** A submission that was sent; `apiKeyId` is what the task says of its key, `ours` what is known of the key of ours. */
async function sent(given: { answer?: Answer; apiKeyId?: string | null; ours?: string | null; listed?: object[] }) {
  const { answer = reset, apiKeyId = null, ours = null, listed = [task(named)] } = given
  const server = await service({
    [post]: [answer],
    [list]: [json(listed)],
    [`${list}/${named}`]: [json(task(named, { apiKeyId }))],
  })
  const deps = ferry.deps(server.url)
  const keys = [
    { fingerprint: keyFingerprint(apiKey, server.url), api_key_id: ours },
    { fingerprint: 'an earlier key', api_key_id: 'earlier' },
  ]
  await ferry.ledger.db.insertInto('service_key').values(keys).execute()
  const id = await ferry.planned(deps, 'properties', [property])
  await lookAtSubmission(deps, id)
  const keyId = async () => {
    const key = ferry.ledger.db
      .selectFrom('service_key')
      .select('api_key_id')
      .where('fingerprint', '<>', 'an earlier key')
    return (await key.executeTakeFirstOrThrow()).api_key_id
  }
  const state = async () => (await ferry.submission(id)).state
  const adopt = () => adoptTask(deps, id, named, anna)
  const dispose = async () => {
    await deps[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  }
  return { id, deps, adopt, keyId, state, [Symbol.asyncDispose]: dispose }
}

describe('a task that a person names', () => {
  it('a task that a person names is refused where it was submitted with a key that is none of ours', async () => {
    await using given = await sent({ apiKeyId: 'sibling', ours: 'own' })
    await expect(given.adopt()).rejects.toMatchObject({
      code: 'task_not_adoptable',
      message: expect.stringMatching(/another API key \(sibling\)/),
    })
    expect(await given.state()).toBe('uncertain')
  })

  it.each([
    ['own', 'own'],
    ['earlier', 'own'],
    ['sibling', null],
    [null, 'own'],
  ])('a task that a person names may be ours where its key is %s, and ours is known as %s', async (apiKeyId, ours) => {
    await using given = await sent({ apiKeyId, ours })
    await given.adopt()
    expect(await given.state()).toBe('accepted')
    await lookAtSubmission(given.deps, given.id)
    expect(await given.keyId(), 'no person says what the service calls our key').toBe(ours)
  })

  it('a task that a person names tells nothing of our key, though our clock was ahead as the request was sent', async () => {
    await using given = await sent({ apiKeyId: 'sibling' })
    const ahead = new Date(ferry.clock.at.getTime() + 86_400_000)
    await ferry.ledger.db.updateTable('submission').set({ attempted_at: ahead }).execute()
    await given.adopt()
    await lookAtSubmission(given.deps, given.id)
    expect(await given.keyId()).toBeNull()
  })

  it('a task that the answer to a POST names tells what the service calls our key', async () => {
    await using given = await sent({ answer: json({ correlationId: named }), apiKeyId: 'own' })
    await lookAtSubmission(given.deps, given.id)
    expect(await given.keyId()).toBe('own')
  })

  it.each<[string, number, object, SubmissionStateAfter]>([
    ['that was sent again is refused while another that may be its own goes on', 1, {}, 'uncertain'],
    ['that was sent again is taken once the other has ended', 1, { status: 'Success' }, 'accepted'],
    ['that was sent once is taken, for the other is not its own then', 0, {}, 'accepted'],
  ])('a task that a person names as that of a request %s', async (_, repeats, fields, state) => {
    await using given = await sent({ listed: [task(named), task(other, { createdAt: null, ...fields })] })
    await ferry.ledger.db.updateTable('submission').set({ repeats }).execute()
    const adopted = given.adopt()
    if (state === 'accepted') await adopted
    else {
      await expect(adopted).rejects.toMatchObject({
        code: 'task_not_adoptable',
        message: expect.stringContaining(`task ${other}, which may be of another attempt, has not ended`),
      })
    }
    expect(await given.state()).toBe(state)
  })
})

type SubmissionStateAfter = 'uncertain' | 'accepted'
