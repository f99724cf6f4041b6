import { describe, expect, test } from 'vitest'
import { fullEveryMs } from '../../../src/config/push-settings.ts'
import type { StreamReading, StreamWatermark } from '../../../src/pipeline/delta/landing/stream-reading.ts'
import { movedBack, type ReadingNow, whyWhole } from '../../../src/pipeline/delta/where-to-read.ts'

const dayMs = 86_400_000
const reading: StreamReading = {
  capture: 'cursor',
  server: 'a/1/5',
  whole_wanted: null,
  query_digest: 'q1',
  lookups: null,
  whole_ago_ms: dayMs,
}
const watermark: StreamWatermark = {
  stream: 'properties',
  watermark: '2026-11-21 00:00:00+00',
  cursor: 'at',
  cursor_type: 'timestamp with time zone',
  witness: 'H-1',
  run_id: 1,
  moved_at: new Date(0),
  partner_ahead_ms: null,
}
const now: ReadingNow = {
  cursor: 'at',
  cursorType: 'timestamp with time zone',
  server: 'a/1/5',
  queryDigest: 'q1',
  lookups: {},
  fullEveryMs: 7 * dayMs,
  clockLostMs: null,
}
const reason = (
  change: Partial<StreamReading>,
  before: Partial<StreamWatermark> | null = {},
  current: Partial<ReadingNow> = {},
) => whyWhole({ ...reading, ...change }, before && { ...watermark, ...before }, { ...now, ...current })?.reason ?? null

describe('a stream is read whole', () => {
  test.each<[string | null, string, Parameters<typeof reason>]>([
    [null, 'not when nothing is different', [{}]],
    ['first', 'when it never was', [{ capture: null }, null]],
    ['capture', 'when it was a snapshot', [{ capture: 'snapshot' }, null]],
    ['reread', 'when a person asked', [{ whole_wanted: 'reread' }, null]],
    ['no_watermark', 'while no row has a cursor', [{}, null]],
    ['due', 'when it never was compared and there are rows from before', [{ whole_ago_ms: null }]],
    ['due', 'when a night begins a little earlier than the one of a week ago', [{ whole_ago_ms: 7 * dayMs - 60_000 }]],
    ['due', 'when the last comparison lies ahead, by a clock that was', [{ whole_ago_ms: -30 * dayMs }]],
    ['held', 'when the guard held what was read last', [{ whole_wanted: 'held' }]],
    [null, 'not a day too early', [{ whole_ago_ms: 6 * dayMs }]],
    [null, 'never, where that is set', [{ whole_ago_ms: null }, {}, { fullEveryMs: null }]],
    ['server', 'when another server answers', [{}, {}, { server: 'b/1/5' }]],
    [null, 'not when the server does not say who it is', [{}, {}, { server: null }]],
    ['clock', "when the partner's clock was put back", [{}, {}, { clockLostMs: dayMs }]],
    ['query', 'when the query is another', [{}, {}, { queryDigest: 'q2' }]],
    [null, 'not when nobody kept by which query it was read', [{ query_digest: null }]],
    ['cursor', 'when the column is another', [{}, {}, { cursor: 'later' }]],
    ['cursor', 'when the type is another', [{}, {}, { cursorType: 'bigint' }]],
    [null, 'not while an empty column has no type', [{}, {}, { cursorType: null }]],
    [
      'cursor',
      'when a number is expected and the old watermark, of which only the text is known, is a time',
      [{}, { cursor: null, cursor_type: null }, { cursorType: 'bigint' }],
    ],
    [
      'cursor',
      'when a time is expected and the old watermark, of which only the text is known, is a number',
      [{}, { cursor: null, cursor_type: null, watermark: '41' }],
    ],
    [null, 'not when the old watermark is of the type expected', [{}, { cursor: null, cursor_type: null }]],
  ])('%s: %s', (expected, _, given) => {
    expect(reason(...given)).toBe(expected)
  })
})

test.each([
  ['is not there', undefined, true],
  ['stands where it stood', '2026-11-21 00:00:00+00', false],
  ['has moved on', '2026-11-21 00:00:00.5+00', false],
  ['has no cursor now', null, false],
  ['went back', '2026-11-20 23:59:59.999+00', true],
  ['lies past the year 9999', '12026-05-01 00:00:00+00', false],
])('the newest row known %s: moved back is %s', (_, cursor, expected) => {
  expect(movedBack(watermark, { cursor })).toBe(expected)
})

test('nobody can say that a watermark moved back if its row is not known', () => {
  expect(movedBack({ ...watermark, witness: null }, { cursor: undefined })).toBe(false)
})

test.each([
  ['7d', 7 * dayMs],
  ['12h', dayMs / 2],
  ['never', null],
])('fullEvery: %s is %s ms', (setting, ms) => {
  expect(fullEveryMs(setting)).toBe(ms)
})
