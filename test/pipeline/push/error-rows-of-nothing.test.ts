import { randomUUID } from 'node:crypto'
import { beforeEach, expect, it } from 'vitest'
import { httpServer, sendJson } from '../../exchange/fault-server.ts'
import { contract } from '../../exchange/test-client.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'
import { outcomes, untilAllSettled } from './poison-service.ts'
import { ids } from './rows.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** A service that ends a request in Error which holds a poisoned text, and says of the row only its place. */
async function placingService(poison: (body: string) => boolean) {
  const tasks = new Map<string, string>()
  const server = await httpServer((request, response) => {
    if (request.method === 'POST') {
      const correlationId = randomUUID()
      tasks.set(correlationId, request.body)
      return sendJson(response, { correlationId })
    }
    const id = request.path.split('/').at(-1) ?? ''
    const failed = poison(tasks.get(id) ?? '')
    const rows = [{ row: 3, reason: 'OutOfRange', message: 'out of range' }]
    const error = failed ? { error: { [contract.names.task.rowErrors]: rows } } : {}
    sendJson(response, { correlationId: id, status: failed ? 'Error' : 'Success', ...error })
  })
  return Object.assign(server, { tasks })
}

const answers = (count: number) =>
  Array.from({ length: count }, (_, at) => String(at + 1)).map((n) => ({
    partner_id: `H-${n}`,
    row_key: n,
    content: {
      framework_id: ids.framework,
      period_type: 'Yearly',
      year: '2020',
      month: '1',
      data_point_id: ids.number,
      value: n,
      value_type: 'number',
    },
  }))

it('a request whose task ends in Error with error rows that match nothing is split, down to the row it fails over', async () => {
  await using service = await placingService((body) => body.includes('H-3'))
  await using deps = ferry.deps(service.url)
  const id = await ferry.planned(deps, 'framework_answers', answers(8))
  await untilAllSettled(ferry, deps)
  const found = await outcomes(ferry, 'framework_answers')
  expect(Object.entries(found).filter(([, outcome]) => outcome !== 'inferred')).toEqual([['3', 'task_error_alone']])
  expect(service.tasks.size).toBe(7)
  expect(await ferry.ledger.row('framework_answers', '3')).toMatchObject({
    outcome_reason: 'out of range (it was sent alone)',
  })
  expect(await ferry.submission(id)).toMatchObject({ error_code: 'unmatched_errors', unmatched_count: 1 })
})

it('a single row whose task ends in Error with error rows that match nothing is rejected after one request', async () => {
  await using service = await placingService(() => true)
  await using deps = ferry.deps(service.url)
  await ferry.planned(deps, 'framework_answers', answers(1))
  await untilAllSettled(ferry, deps)
  expect(await outcomes(ferry, 'framework_answers')).toEqual({ 1: 'task_error_alone' })
  expect(service.tasks.size).toBe(1)
})

it('no row is rejected where every part ends in Error with error rows that match nothing', async () => {
  await using service = await placingService(() => true)
  await using deps = ferry.deps(service.url)
  await ferry.planned(deps, 'framework_answers', answers(8))
  await untilAllSettled(ferry, deps)
  expect(new Set(Object.values(await outcomes(ferry, 'framework_answers')))).toEqual(new Set(['task_error']))
  expect(service.tasks.size).toBe(7)
})
