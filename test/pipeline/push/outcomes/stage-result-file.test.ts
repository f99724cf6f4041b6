import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type pg from 'pg'
import { expect, it, vi } from 'vitest'
import { settings } from '../../../../src/config/schema.ts'
import type { Submission } from '../../../../src/db/tables/submission-tables.ts'
import type { Deps } from '../../../../src/pipeline/deps.ts'
import { stageResultFile } from '../../../../src/pipeline/push/outcomes/stage-result-file.ts'
import { contract } from '../../pull/sample-page.ts'

it('a result file is closed where the database cannot be had', async () => {
  const server = createServer((_request, response) => void response.write('{"results": ['))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const connections = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const atConnect: number[] = []
    const connect = async () => {
      atConnect.push(await connections())
      throw new Error('no connection to the database')
    }
    const deps = {
      config: settings.parse({}),
      required: { baseUrl: url, apiKey: 'demo-key' },
      contract,
      pool: { connect } as unknown as pg.Pool,
    } as Deps
    const submission = { submission_id: 1, kind: 'company_mappings' } as Submission
    await expect(stageResultFile(deps, submission, `${url}/result`)).rejects.toThrow('no connection to the database')
    expect(atConnect).toEqual([1])
    await vi.waitFor(async () => expect(await connections()).toBe(0), { timeout: 30_000 })
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
