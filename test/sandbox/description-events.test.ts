import { expect, it } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { mapHotels } from './bodies.ts'
import { contract, openSandbox } from './open-sandbox.ts'

type Delivery = { type: string; payload: { type: string } }

const sandbox = await ofThisFile(openSandbox({ allowInsecureWebhooks: true }))

/** A webhook for these topics; its log shows what is sent, whether it arrives or not. */
async function createWebhook(topics: string[], key: string): Promise<string> {
  const body = { url: 'http://127.0.0.1:9/', topics }
  const { body: webhook } = await sandbox.call<{ id: string }>('POST', '/sandbox/webhooks', { key, body })
  return webhook.id
}

async function payloads(webhookId: string, key: string) {
  const { body } = await sandbox.call<Delivery[]>('GET', `/sandbox/webhooks/${webhookId}/deliveries`, { key })
  return body.map(({ payload }) => payload)
}

const { test, applicationStatusChanged, applicationAnswersChanged, ...bulk } = contract.webhookTopics

it('bulk events are as described, of mappings and of other requests', async () => {
  const id = await createWebhook(Object.values(bulk), 'demo-key')
  await sandbox.run('companyMappings', mapHotels(1))
  await sandbox.run('standardsSearch', {})
  const sent = await payloads(id, 'demo-key')
  expect(sent.map(({ type }) => type)).toContain(bulk.success)
  expect(sent.length).toBeGreaterThan(3)
  const { checkEvent } = await sandbox.descriptions()
  for (const payload of sent) checkEvent('bulkEvent', payload)
})

it('application events are as described', async () => {
  const key = 'certifier-key'
  const id = await createWebhook([applicationStatusChanged, applicationAnswersChanged], key)
  const { names, otherEndpoints } = contract
  const { body: all } = await sandbox.call<Record<string, string>[]>('GET', otherEndpoints.applications.path, { key })
  const application = all.find((one) => one[names.application.status] !== names.application.approved)
  const path = otherEndpoints.applicationStatus.path.replace(
    '{applicationId}',
    application?.[names.application.id] ?? '',
  )
  const answer = await sandbox.call('PUT', path, {
    key,
    body: { [names.application.status]: names.application.approved },
  })
  expect(answer.status).toBe(200)
  const sent = await payloads(id, key)
  expect(sent.map(({ type }) => type)).toEqual([applicationStatusChanged])
  const { checkEvent } = await sandbox.descriptions()
  for (const payload of sent) checkEvent('applicationEvent', payload)
})

it('test events are as described, and no other kind of event is taken for one', async () => {
  const id = await createWebhook([bulk.error], 'demo-key')
  await sandbox.call('POST', `/sandbox/webhooks/${id}/test`, { key: 'demo-key' })
  const [sent, ...others] = await payloads(id, 'demo-key')
  expect([sent?.type, others]).toEqual([test, []])
  const { checkEvent } = await sandbox.descriptions()
  checkEvent('testEvent', sent)
  expect(() => checkEvent('bulkEvent', sent)).toThrow('/data/taskKind')
})
