import { describe, expect, it } from 'vitest'
import { AnswerFormatError } from '../../src/exchange/errors.ts'
import { decodeTask, decodeTasks } from '../../src/exchange/task.ts'
import { contract } from './test-client.ts'

const head = { correlationId: 'c1', status: 'PartialSuccess' }
const decode = (fields: Record<string, unknown>) => decodeTask(contract, { ...head, ...fields })

describe('decodeTask', () => {
  it('reads every field that the contract names and ignores all others', () => {
    const row = { companyId: 'k', identifiedByValue: 'H-0001', dataPointId: 'd', questionId: 'q', periodType: 'Yearly' }
    const more = { propertyId: 'p', standardId: 's', fieldTypeId: 'f' }
    const json = {
      ...head,
      requestType: 'BulkGetCompanyCalculators',
      taskKind: 'BulkProcessingRequest',
      createdAt: '2026-11-21T02:00:04.120Z',
      apiKeyId: 'key-1',
      pageUrls: ['https://a/1', { url: 'https://a/2', size: 7 }],
      file: { url: 'https://a/file', expires: 'soon' },
      error: {
        generalErrorMessages: ['no'],
        rowErrors: [{ ...row, ...more, year: 2025, month: 'March', reason: 'r', message: 'm', extra: {} }],
        extra: 1,
      },
      extra: [],
    }
    expect(decodeTask(contract, json)).toEqual({
      correlationId: 'c1',
      status: 'PartialSuccess',
      phase: 'terminal',
      known: true,
      requestType: 'BulkGetCompanyCalculators',
      taskKind: 'BulkProcessingRequest',
      createdAt: new Date(Date.UTC(2026, 10, 21, 2, 0, 4, 120)),
      apiKeyId: 'key-1',
      pageUrls: ['https://a/1', 'https://a/2'],
      fileUrl: 'https://a/file',
      generalErrors: ['no'],
      rowErrors: [{ ...row, ...more, year: 2025, month: 'March', reason: 'r', message: 'm' }],
      raw: json,
    })
  })

  it('takes everything that is missing or null for empty', () => {
    const empty = { requestType: null, createdAt: null, pageUrls: [], fileUrl: null, generalErrors: [], rowErrors: [] }
    expect(decode({})).toMatchObject(empty)
    expect(
      decode({ requestType: null, taskKind: null, createdAt: null, pageUrls: null, file: null, error: null }),
    ).toMatchObject(empty)
    expect(decode({ error: { generalErrorMessages: null, rowErrors: null } })).toMatchObject(empty)
    expect(decode({ status: 'Success' }).pageUrls).toEqual([])
  })

  it.each([
    ['Pending', 'in_flight', true],
    ['Scheduled', 'in_flight', true],
    ['InProgress', 'in_flight', true],
    ['Success', 'terminal', true],
    ['PartialSuccess', 'terminal', true],
    ['Error', 'terminal', true],
    ['Cancelled', 'terminal', true],
    ['Paused', 'in_flight', false],
    ['success', 'in_flight', false],
  ])('holds %s for %s, known: %s', (status, phase, known) => {
    expect(decode({ status })).toMatchObject({ status, phase, known })
  })

  it.each([
    ['2026-11-21T02:00:04', Date.UTC(2026, 10, 21, 2, 0, 4)],
    ['2026-11-21T02:00:04.5', Date.UTC(2026, 10, 21, 2, 0, 4, 500)],
    ['2026-11-21T02:00:04+02:00', Date.UTC(2026, 10, 21, 0, 0, 4)],
  ])('reads the instant %s, in UTC when it names no zone', (createdAt, ms) => {
    expect(decode({ createdAt }).createdAt?.getTime()).toBe(ms)
  })

  it.each([['yesterday'], [1_700_000_000], [{}]])('holds the instant %j for unknown', (createdAt) => {
    expect(decode({ createdAt }).createdAt).toBeNull()
  })

  it('reads a year that is sent as text, ids that are sent as numbers and a month that is sent as a number', () => {
    const [row] = decode({
      error: { rowErrors: [{ year: '2025', companyId: 12, identifiedByValue: 7, month: 3 }] },
    }).rowErrors
    expect(row).toMatchObject({ year: 2025, companyId: '12', identifiedByValue: '7', month: 'March' })
  })

  it('keeps a row error that says nothing usable, because a row that nobody names counts as accepted', () => {
    const { rowErrors } = decode({ error: { rowErrors: [{}, null, 'row 7 is wrong', { year: 'MMXXV', month: 13 }] } })
    expect(rowErrors).toHaveLength(4)
    expect(rowErrors[2]?.message).toBe('row 7 is wrong')
    expect(rowErrors[3]).toMatchObject({ year: null, month: '13' })
  })

  it('keeps an error that is no object as a general error', () => {
    expect(decode({ error: 'broken' }).generalErrors).toEqual(['broken'])
    expect(decode({ error: ['a'] }).generalErrors).toEqual(['["a"]'])
    expect(decode({ error: { generalErrorMessages: 'one' } }).generalErrors).toEqual(['one'])
  })

  it('reads a file entry that is a bare address', () => {
    expect(decode({ file: 'https://a/file' }).fileUrl).toBe('https://a/file')
  })

  it.each([
    ['page addresses that are no list', { pageUrls: 'https://a/1' }],
    ['a page without an address', { pageUrls: ['https://a/1', {}] }],
    ['a page that is null', { pageUrls: [null] }],
    ['a file without an address', { file: {} }],
    ['row errors that are no list', { error: { rowErrors: { 0: {} } } }],
  ])('refuses %s instead of dropping it', (_title, fields) => {
    expect(() => decode(fields)).toThrow(AnswerFormatError)
  })

  it.each([
    [null],
    [[]],
    ['task'],
    [{}],
    [{ correlationId: 'c1' }],
    [{ status: 'Success' }],
    [{ correlationId: '', status: 'Success' }],
  ])('refuses %j, which is no task', (json) => {
    expect(() => decodeTask(contract, json)).toThrow(AnswerFormatError)
  })

  it('reads names from the contract', () => {
    const other = {
      ...contract,
      names: { ...contract.names, task: { ...contract.names.task, correlationId: 'taskId' } },
    }
    expect(decodeTask(other, { taskId: 't', status: 'Error' }).correlationId).toBe('t')
  })
})

describe('decodeTasks', () => {
  it('reads the tasks in their order and skips what is none', () => {
    const json = [
      head,
      null,
      'x',
      { status: 'Success' },
      { ...head, correlationId: 'c2', status: 'New', pageUrls: 'odd' },
    ]
    expect(decodeTasks(contract, json).map((task) => [task.correlationId, task.phase])).toEqual([
      ['c1', 'terminal'],
      ['c2', 'in_flight'],
    ])
  })

  it.each([[null], [{ tasks: [] }], ['']])('refuses %j, which is no list', (json) => {
    expect(() => decodeTasks(contract, json)).toThrow(AnswerFormatError)
  })
})
