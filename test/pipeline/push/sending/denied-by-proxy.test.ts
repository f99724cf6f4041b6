import { expect, it } from 'vitest'
import { StopRun } from '../../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { rejection, testClient } from '../../../exchange/test-client.ts'
import { connectProxy, withCredentials } from '../../../helpers/connect-proxy.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { openFerry } from '../ferry.ts'

const ferry = await ofThisFile(openFerry())

it('a request that the proxy does not let through stops its run at once, stays planned, and is tried no second time', async () => {
  await using proxy = await connectProxy({ lead: () => ({ status: 502 }), credentials: 'user:new' })
  const url = 'https://elsewhere.example'
  await using client = testClient(url, { proxy: withCredentials(proxy.url, 'user:old') })
  await using made = ferry.deps(url)
  const deps = { ...made, exchange: client }
  const id = await ferry.planned(deps, 'properties', [{ partner_id: 'H-1', content: { name: 'Aske' } }])
  const stopped = await rejection(lookAtSubmission(deps, id))
  expect(stopped).toBeInstanceOf(StopRun)
  expect(stopped).toMatchObject({
    code: 'proxy_unauthorized',
    message: expect.stringContaining('does not accept the user and password in exchange.proxy (407): correct them'),
  })
  expect(await ferry.submission(id)).toMatchObject({ state: 'planned', failures: 0 })
  expect(proxy.asked).toHaveLength(1)
})
