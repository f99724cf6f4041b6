import { describe, expect, it } from 'vitest'
import { decodeTask } from '../../../../src/exchange/task.ts'
import { unnamedRows } from '../../../../src/pipeline/push/outcomes/judge-error.ts'
import { contract } from '../../../exchange/test-client.ts'

const task = (status: string, error?: object) =>
  decodeTask(contract, { correlationId: '0b6c2f4e-0000-4000-8000-000000000001', status, error })
const named = { rowErrors: [{ identifiedByValue: 'H-1', reason: 'OutOfRange' }] }

describe('rows that no error names', () => {
  it('rows that no error names are inferred after Success', () => {
    expect(unnamedRows(contract, task('Success'))).toEqual({ outcome: 'inferred' })
  })

  it('rows that no error names are inferred after PartialSuccess that names others', () => {
    expect(unnamedRows(contract, task('PartialSuccess', named))).toEqual({ outcome: 'inferred' })
  })

  it('rows that no error names are unknown after PartialSuccess that names none', () => {
    expect(unnamedRows(contract, task('PartialSuccess'))).toMatchObject({
      outcome: 'unknown',
      code: 'partial_without_rows',
    })
    expect(unnamedRows(contract, task('PartialSuccess', { generalErrorMessages: ['Two rows.', 'Sorry.'] }))).toEqual({
      outcome: 'unknown',
      code: 'partial_without_rows',
      reason: 'Two rows.; Sorry.',
    })
  })

  it.each([
    ['Error', 'task_error'],
    ['Cancelled', 'task_cancelled'],
  ])('rows that no error names are unknown after %s, whether it names others or not', (status, code) => {
    expect(unnamedRows(contract, task(status))).toMatchObject({ outcome: 'unknown', code })
    expect(unnamedRows(contract, task(status, named))).toMatchObject({ outcome: 'unknown', code })
  })

  it('rows that no error names are unknown for the reason that the task gives, or by its status where it gives none', () => {
    expect(unnamedRows(contract, task('Error'))).toMatchObject({
      reason: 'the task ended as Error and does not name this row',
    })
    expect(unnamedRows(contract, task('Error', { generalErrorMessages: ['Full.'] }))).toMatchObject({ reason: 'Full.' })
    expect(unnamedRows(contract, task('PartialSuccess'))).toMatchObject({
      reason: 'the task succeeded in part and does not say which rows failed',
    })
  })

  it('rows that no error names are never inferred after a status that the contract does not name', () => {
    expect(unnamedRows(contract, task('Completed'))).toMatchObject({ outcome: 'unknown', code: 'task_completed' })
  })
})
