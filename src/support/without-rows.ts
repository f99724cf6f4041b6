/** Members whose texts come from Nightferry or the service's own vocabulary, and never from a row. */
const harmless = new Set([
  ...['stream', 'kind', 'state', 'status', 'task_status', 'outcome', 'verdict', 'trigger', 'job', 'step', 'capture'],
  ...[
    'code',
    'error_code',
    'rest_code',
    'protection',
    'whole',
    'lacks',
    'why',
    'level',
    'msg',
    'time',
    'event',
    'queue',
  ],
  'correlation_id',
])

/** What stands where a text was left out. */
const leftOut = '(left out; --with-rows keeps it)'

const moment = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/
/** Keys of ours; a hotel's id could stand as a key as well. */
const ownKey = /^[a-z][a-z_]{0,40}$/

/**
 * The same value without any text that could come from a row: a hotel's name or id, a value, a message that quotes one.
 * Numbers, times, words of ours and the shape stay. Pure.
 */
export function withoutRows(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return harmless.has(key) || moment.test(value) ? value : leftOut
  if (value instanceof Date) return value
  if (Array.isArray(value)) return value.map((element) => withoutRows(element, key))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
  return Object.fromEntries(
    members.map(([name, member], index) => {
      const shown = ownKey.test(name) ? name : `(left out ${index + 1})`
      return [shown, withoutRows(member, shown)]
    }),
  )
}

/** Lines of a log without texts that could come from a row; a line that is no JSON is only counted. Pure. */
export function logWithoutRows(text: string): string {
  let others = 0
  const kept = text.split('\n').flatMap((line) => {
    if (line.trim() === '') return []
    try {
      return [JSON.stringify(withoutRows(JSON.parse(line)))]
    } catch {
      others += 1
      return []
    }
  })
  return [
    ...kept,
    ...(others > 0 ? [`(${others} lines that are no JSON were left out; --with-rows keeps them)`] : []),
    '',
  ].join('\n')
}
