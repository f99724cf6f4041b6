import { describe, expect, it } from 'vitest'
import type { Submission } from '../../../src/db/tables/submission-tables.ts'
import { decodeTasks } from '../../../src/exchange/task.ts'
import { earliestStamp, latestStamp } from '../../../src/pipeline/push/sending/listed-tasks.ts'
import { mayBeOurs } from '../../../src/pipeline/push/sending/resolve-uncertain.ts'
import { contract } from '../../exchange/test-client.ts'

const attemptedAt = new Date('2026-11-21T02:00:00Z')
const submission = (kind: string) => ({ kind, attempted_at: attemptedAt, planned_at: new Date(0) }) as Submission

/** The answer was found to be lost a minute later, and a task may stay unlisted for six hours. */
const lostAt = new Date('2026-11-21T02:01:00Z')
const latest = latestStamp(lostAt, 0, { lowMs: -1_000, highMs: 2_000 }, 21_600_000)

function mayBe(kind: string, fields: object, apiKeyId: string | null = null, youngest: Date | null = latest): boolean {
  const [task] = decodeTasks(contract, [{ correlationId: 'c', status: 'InProgress', ...fields }])
  if (task === undefined) throw new Error('it is no task')
  const earliest = earliestStamp(attemptedAt, 0, null)
  return mayBeOurs(contract, submission(kind), task, { earliest, latest: youngest, apiKeyId })
}

const bulk = { taskKind: 'BulkProcessingRequest' }
const mapping = { taskKind: 'CompanyMappingRequest', requestType: null }

describe('a listed task', () => {
  it.each([
    ['framework_answers', { ...bulk, requestType: 'BulkUpsertFrameworkAnswers' }],
    ['company_mappings', mapping],
    ['calculators_search', { ...bulk, requestType: 'BulkGetCompanyCalculators' }],
    ['framework_answers', { ...bulk, requestType: 'SomethingNew' }],
    ['framework_answers', { ...bulk, requestType: null }],
    ['framework_answers', {}],
    ['company_mappings', {}],
  ])('may come from a lost POST of %s: %j', (kind, fields) => {
    expect(mayBe(kind, fields)).toBe(true)
  })

  it.each([
    ['framework_answers', { ...bulk, requestType: 'BulkUpsertCompanyCalculators' }],
    ['framework_answers', mapping],
    ['company_mappings', { ...bulk, requestType: 'BulkUpsertFrameworkAnswers' }],
    ['company_mappings', { ...bulk, requestType: null }],
  ])('cannot come from a lost POST of %s: %j', (kind, fields) => {
    expect(mayBe(kind, fields)).toBe(false)
  })

  it('a task of another key cannot be ours, where both keys are known', () => {
    const task = { ...bulk, requestType: 'BulkUpsertFrameworkAnswers' }
    expect(mayBe('framework_answers', { ...task, apiKeyId: 'sibling' }, 'own')).toBe(false)
    expect(mayBe('framework_answers', { ...task, apiKeyId: 'own' }, 'own')).toBe(true)
    expect(mayBe('framework_answers', { ...task, apiKeyId: 'sibling' }, null)).toBe(true)
    expect(mayBe('framework_answers', task, 'own')).toBe(true)
  })

  it.each([
    ['2026-11-21T01:54:59.999Z', false],
    ['2026-11-21T01:55:00.000Z', true],
    ['2026-11-21T08:06:02.000Z', true],
    ['2026-11-21T08:06:02.001Z', false],
    ['soon', true],
  ])('a listed task that was made at %s may be ours: %s', (createdAt, expected) => {
    expect(mayBe('framework_answers', { ...bulk, requestType: 'BulkUpsertFrameworkAnswers', createdAt })).toBe(expected)
  })

  it('may be ours however young it is while nobody knows when the answer was lost', () => {
    const task = { ...bulk, requestType: 'BulkUpsertFrameworkAnswers', createdAt: '2027-11-21T09:00:00Z' }
    expect(mayBe('framework_answers', task, null, null)).toBe(true)
    expect(mayBe('framework_answers', task)).toBe(false)
  })

  it.each<[string, number | null, { lowMs: number; highMs: number } | null, string]>([
    ['was never measured', null, null, '2026-11-21T03:06:00.000Z'],
    ['is behind', -60_000, { lowMs: -61_000, highMs: -59_000 }, '2026-11-21T02:06:00.000Z'],
    ['is ahead', 0, { lowMs: 58_000, highMs: 60_000 }, '2026-11-21T02:07:00.000Z'],
    ['was ahead at the attempt', 120_000, { lowMs: 0, highMs: 0 }, '2026-11-21T02:08:00.000Z'],
  ])('has a latest stamp by what is known of a clock that %s', (_, atAttempt, now, expected) => {
    expect(latestStamp(lostAt, atAttempt, now, 0).toISOString()).toBe(expected)
  })
})
