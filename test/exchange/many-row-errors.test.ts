import { expect, it } from 'vitest'
import { AnswerFormatError } from '../../src/exchange/errors.ts'
import { decodeTask } from '../../src/exchange/task.ts'
import { contract } from './test-client.ts'

it('counts a task that names more errors than fit into memory as too long to be read', () => {
  const rowErrors: object[] = new Array(250_001).fill({})
  const task = { correlationId: 'c1', status: 'Error', error: { rowErrors } }
  const refused = () => {
    try {
      return decodeTask(contract, task)
    } catch (error) {
      return error instanceof AnswerFormatError && error.tooLong
    }
  }
  expect(refused() === true).toBe(true)
})
