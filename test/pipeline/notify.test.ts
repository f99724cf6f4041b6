import { describe, expect, it } from 'vitest'
import { bodyOf } from '../../src/pipeline/notify/channels.ts'
import { type EndedRun, judgeEnd, messageOfEnd } from '../../src/pipeline/notify/message.ts'

const stream = {
  sent: 10,
  confirmed: 8,
  inferred: 0,
  rejected: 0,
  invalid: 0,
  unknown: 0,
  withheld: 0,
  parked: 0,
  held: 0,
  behind: 0,
}

function run(verdict: EndedRun['verdict'], remarks: string[] = [], counts: Partial<typeof stream> = {}): EndedRun {
  const streams = [{ ...stream, ...counts }] as unknown as NonNullable<EndedRun['report']>['streams']
  return {
    run_id: 7,
    job: 'nightly-sync',
    destination: 'first',
    verdict,
    failure: null,
    finished_at: null,
    part: false,
    report: { remarks, streams, held: [], duration_ms: 61_000 },
  }
}

/** People were told of this cause, of none after it, and it still stands. */
const known = (cause: string | null = null) => ({ told: cause, newest: cause })

const failed = (code: string): EndedRun => ({
  ...run('failed'),
  failure: { code, message: 'The key is not accepted.', step: 'reference' },
  report: null,
})

describe('the end of a run', () => {
  it('the end of a run is told if the run failed, and not again while it fails for the same reason', () => {
    const first = judgeEnd(failed('exchange_unauthorized'), known(), 1)
    expect(first).toEqual({ event: 'failed', cause: 'failed: exchange_unauthorized' })
    expect(judgeEnd(failed('exchange_unauthorized'), known(first?.cause), 1)).toBeNull()
    expect(judgeEnd(failed('exchange_unreachable'), known(first?.cause), 1)?.cause).toBe('failed: exchange_unreachable')
  })

  it('the end of a run that was to do a part of its job tells of no recovery, and of its own trouble', () => {
    const part = { ...run('succeeded'), part: true }
    expect(judgeEnd(run('succeeded'), known('failed: x'), 1)?.event).toBe('recovered')
    expect(judgeEnd(part, known('failed: x'), 1)).toBeNull()
    expect(judgeEnd({ ...failed('exchange_unreachable'), part: true }, known(), 1)?.event).toBe('failed')
  })

  it('the end of a run is told if the run was partial, and not again while only the numbers differ', () => {
    const first = judgeEnd(run('partial', ['1 row rejected by the service.'], { rejected: 1 }), known(), 1)
    expect(first?.event).toBe('partial')
    const next = run('partial', ['1,204 rows rejected by the service.'], { rejected: 1204 })
    expect(judgeEnd(next, known(first?.cause), 1)).toBeNull()
    const more = run('partial', ['2 rows rejected by the service.', '3 rows invalid, and not sent.'], { rejected: 2 })
    expect(judgeEnd(more, known(first?.cause), 1)?.event).toBe('partial')
  })

  it('the end of a run is not told if fewer rows need a person than are wanted, unless it is not about rows', () => {
    expect(judgeEnd(run('partial', ['4 rows invalid.'], { invalid: 4 }), known(), 5)).toBeNull()
    expect(judgeEnd(run('partial', ['5 rows invalid.'], { invalid: 5 }), known(), 5)?.event).toBe('partial')
    expect(judgeEnd(run('partial', ['1 page could not be loaded.']), known(), 5)?.event).toBe('partial')
    const both = run('partial', ['4 rows invalid.', '1 page could not be loaded.'], { invalid: 4 })
    expect(judgeEnd(both, known(), 5)?.cause).toBe('partial: # page could not be loaded.')
  })

  it('the end of a run is told as a recovery if people had been told of trouble, and otherwise not at all', () => {
    expect(judgeEnd(run('succeeded'), known('failed: exchange_unreachable'), 1)?.event).toBe('recovered')
    expect(judgeEnd(run('succeeded'), known(), 1)).toBeNull()
  })
})

describe('a message', () => {
  it('names the numbers that matter, and the three largest causes with the verb for each', () => {
    const ended = run('partial', ['Rows.'], { rejected: 2, invalid: 9, parked: 40, unknown: 3, held: 0 })
    const message = messageOfEnd(ended, { event: 'partial', cause: 'x' })
    expect(message.numbers).toMatchObject({ sent: 10, rejected: 2, invalid: 9, parked: 40, duration_ms: 61_000 })
    expect(message.causes).toEqual([
      { what: 'parked', rows: 40, verb: 'nightferry parked' },
      { what: 'invalid, and not sent', rows: 9, verb: 'nightferry invalid' },
      { what: 'sent, without an answer', rows: 3, verb: 'nightferry unknown' },
    ])
  })

  it('names the verb that approves first, with the number of rows, where the guard held what is gone or an empty source', () => {
    const plan = {
      run_id: 7,
      stream: 'properties',
      reason: 'share' as const,
      known: 5_000,
      new: 0,
      changed: 0,
      gone: 4_500,
      examples: [],
    }
    const told = (counts: Partial<typeof stream> & { held_gone?: number }, held = [plan]) => {
      const ended = run('partial', ['Held by the guard: 4500 gone.'], counts)
      const report = ended.report === null ? null : { ...ended.report, held }
      return messageOfEnd({ ...ended, report }, { event: 'partial', cause: 'x' })
    }
    const missing = told({ held_gone: 4_500, rejected: 9_000, invalid: 8_000, unknown: 7_000 })
    expect(missing.numbers).toMatchObject({ held: 4_500 })
    expect(missing.causes).toMatchObject([
      { what: 'held by the guard', rows: 4_500, verb: 'nightferry approve 7' },
      { verb: 'nightferry rejected' },
      { verb: 'nightferry invalid' },
    ])
    expect(told({}, [{ ...plan, gone: 0 }]).causes).toEqual([
      { what: 'held by the guard', rows: null, verb: 'nightferry approve 7' },
    ])
    expect(bodyOf(told({}), 'slack')).toMatchObject({ text: expect.stringContaining('nightferry approve 7') })
  })

  it('reaches Slack with its own signs escaped, and Teams as a card', () => {
    const message = messageOfEnd(run('partial', ['Hotel <!channel> & co.'], { rejected: 1 }), {
      event: 'partial',
      cause: 'x',
    })
    const slack = bodyOf(message, 'slack') as { text: string }
    expect(slack.text).toContain('Hotel &lt;!channel&gt; &amp; co.')
    expect(slack.text).toContain('• 1 row rejected by the service: nightferry rejected')
    const inlines = [{ type: 'TextRun', text: message.sentence, weight: 'Bolder' }]
    expect(bodyOf(message, 'teams')).toMatchObject({
      attachments: [{ content: { type: 'AdaptiveCard', body: [{ inlines }, {}] } }],
    })
    expect(bodyOf(message, 'json')).toBe(message)
  })

  it('reaches Teams as text that holds no Markdown, whatever others wrote into it', () => {
    const remark = '[Unlock your key](https://evil.example/login), __init__ and *this*.'
    const message = messageOfEnd(run('partial', [remark], { rejected: 1 }), { event: 'partial', cause: 'x' })
    const { attachments } = bodyOf(message, 'teams') as { attachments: { content: { body: { type: string }[] } }[] }
    const blocks = attachments.flatMap(({ content }) => content.body)
    expect(JSON.stringify(blocks)).toContain(remark)
    // The text of a TextBlock is Markdown, that of a RichTextBlock is not.
    expect(new Set(blocks.map(({ type }) => type))).toEqual(new Set(['RichTextBlock']))
  })
})
