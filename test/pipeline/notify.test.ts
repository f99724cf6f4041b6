import { describe, expect, it } from 'vitest'
import { bodyOf } from '../../src/pipeline/notify/channels.ts'
import { amountsOf, type EndedRun, judgeEnd, leastOf } from '../../src/pipeline/notify/judge-end.ts'
import { messageOfEnd } from '../../src/pipeline/notify/message.ts'

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
  awaited: 0,
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
const known = (cause: string | null = null) => ({ told: cause, newest: cause, measured: null })

const limits = (partialRows = 1) => ({ partialRows, againFactor: 2 })

const failed = (code: string): EndedRun => ({
  ...run('failed'),
  failure: { code, message: 'The key is not accepted.', step: 'reference' },
  report: null,
})

describe('the end of a run', () => {
  it('the end of a run is told if the run failed, and not again while it fails for the same reason', () => {
    const first = judgeEnd(failed('exchange_unauthorized'), known(), limits())
    expect(first).toMatchObject({ event: 'failed', cause: 'failed: exchange_unauthorized' })
    expect(judgeEnd(failed('exchange_unauthorized'), known(first?.cause), limits())).toBeNull()
    expect(judgeEnd(failed('exchange_unreachable'), known(first?.cause), limits())?.cause).toBe(
      'failed: exchange_unreachable',
    )
  })

  it('the end of a run that was to do a part of its job tells of no recovery, and of its own trouble', () => {
    const part = { ...run('succeeded'), part: true }
    expect(judgeEnd(run('succeeded'), known('failed: x'), limits())?.event).toBe('recovered')
    expect(judgeEnd(part, known('failed: x'), limits())).toBeNull()
    expect(judgeEnd({ ...failed('exchange_unreachable'), part: true }, known(), limits())?.event).toBe('failed')
  })

  it('the end of a run is told if the run was partial, and not again while only the numbers of its remarks differ', () => {
    const first = judgeEnd(run('partial', ['1 row rejected by the service.'], { rejected: 1 }), known(), limits())
    expect(first?.event).toBe('partial')
    const next = run('partial', ['1,204 rows rejected by the service.'], { rejected: 1204 })
    expect(judgeEnd(next, known(first?.cause), limits())).toBeNull()
    const more = run('partial', ['2 rows rejected by the service.', '3 rows invalid, and not sent.'], { rejected: 2 })
    expect(judgeEnd(more, known(first?.cause), limits())?.event).toBe('partial')
  })

  it('the end of a run is not told if fewer rows need a person than are wanted, unless it is not about rows', () => {
    expect(judgeEnd(run('partial', ['4 rows invalid.'], { invalid: 4 }), known(), limits(5))).toBeNull()
    expect(judgeEnd(run('partial', ['5 rows invalid.'], { invalid: 5 }), known(), limits(5))?.event).toBe('partial')
    expect(judgeEnd(run('partial', ['1 page could not be loaded.']), known(), limits(5))?.event).toBe('partial')
    const both = run('partial', ['4 rows invalid.', '1 page could not be loaded.'], { invalid: 4 })
    expect(judgeEnd(both, known(), limits(5))?.cause).toBe('partial: # page could not be loaded.')
  })

  it('the end of a run is told as a recovery if people had been told of trouble, and otherwise not at all', () => {
    expect(judgeEnd(run('succeeded'), known('failed: exchange_unreachable'), limits())?.event).toBe('recovered')
    expect(judgeEnd(run('succeeded'), known(), limits())).toBeNull()
  })
})

const inNeed = (counts: Partial<typeof stream>) => run('partial', ['1 row is in need.'], counts)

/** Whether the second of two ends is told after the first was, and by how much its kinds grew. */
function again(first: EndedRun, second: EndedRun, settings = limits()) {
  const { cause = '' } = judgeEnd(first, known(), settings) ?? {}
  const measured = { cause, amounts: amountsOf(first, settings) }
  return judgeEnd(second, { ...known(cause), measured }, settings)
}

describe('a cause that was told', () => {
  it.each([
    [3, 3, false],
    [3, 5, false],
    [3, 12, false],
    [3, 13, true],
    [3, 40, true],
    [1_000, 1_999, false],
    [1_000, 2_100, true],
    [40, 3, false],
  ])('a cause that was told of %i rows is told again of %i: %s', (before, now, told) => {
    const judged = again(inNeed({ rejected: before }), inNeed({ rejected: now }))
    expect(judged?.grown ?? null).toEqual(
      told ? [{ noun: 'rows', what: 'rejected by the service', before, now }] : null,
    )
  })

  it('a cause that was told is told again if one of its kinds grew, whatever shrank meanwhile', () => {
    const judged = again(inNeed({ rejected: 900, invalid: 1 }), inNeed({ rejected: 3, invalid: 9_004 }))
    expect(judged?.grown).toMatchObject([{ what: 'invalid, and not sent', before: 1, now: 9_004 }])
  })

  it('a cause that was told is told again by the factor of the settings, and rows too few to be told do not count', () => {
    const [few, more] = [inNeed({ rejected: 10 }), inNeed({ rejected: 40 })]
    expect(again(few, more, { partialRows: 1, againFactor: 5 })).toBeNull()
    expect(again(few, more, { partialRows: 1, againFactor: 4 })).not.toBeNull()
    const withPage = (counts: Partial<typeof stream>) => run('partial', ['1 row is in need.', 'A page failed.'], counts)
    expect(again(withPage({ rejected: 10 }), withPage({ rejected: 40 }), limits(100))).toBeNull()
  })

  it('a cause that was told is told again if more pages fail', () => {
    const failing = (failed_pages: number) => {
      const { report, ...ended } = inNeed({})
      const searches = [{ failed_pages, quarantined: 0 }] as NonNullable<EndedRun['report']>['searches'] & object
      return { ...ended, report: report && { ...report, searches } }
    }
    expect(again(failing(1), failing(9))).toBeNull()
    expect(again(failing(1), failing(512))?.grown).toEqual([
      { noun: 'pages', what: 'that could not be loaded', before: 1, now: 512 },
    ])
  })

  it('a cause that was told is the same when rows that were rejected are withheld the night after', () => {
    const first = run('partial', ['3 rows rejected by the service.'], { rejected: 3 })
    const withheld = '3 rows rejected before and unchanged since, and not sent again.'
    expect(again(first, run('partial', [withheld], { withheld: 3 }))).toBeNull()
    expect(
      again(first, run('partial', ['2 rows rejected by the service.', withheld], { rejected: 2, withheld: 3 })),
    ).toBeNull()
  })

  it('a cause that was told without its amounts, by an earlier version, is measured from the next run on', () => {
    const cause = judgeEnd(inNeed({ rejected: 3 }), known(), limits())?.cause ?? ''
    const measured = { cause, amounts: {} }
    expect(judgeEnd(inNeed({ rejected: 4_000 }), { ...known(cause), measured }, limits())).toBeNull()
    expect(leastOf({}, { rejected: 40 })).toEqual({ rejected: 40 })
    expect(leastOf({ rejected: 30, invalid: 2 }, { rejected: 40, invalid: 0 })).toEqual({ rejected: 30, invalid: 0 })
  })
})

describe('a message', () => {
  it('a message says by how much the trouble grew, before the remarks', () => {
    const night = run('partial', ['48,211 rows rejected by the service.'], { rejected: 48_211, invalid: 9_004 })
    const judged = again(run('partial', ['3 rows rejected by the service.'], { rejected: 3, invalid: 1 }), night)
    const { sentence } = messageOfEnd(night, judged ?? { event: 'recovered', cause: '' })
    expect(sentence).toBe(
      'nightly-sync finished, and needs a person (run 7). It grew: from 3 to 48,211 rows rejected by the service; from 1 to 9,004 rows invalid, and not sent. 48,211 rows rejected by the service.',
    )
  })

  it('a message names its destination to people where that does not go without saying', () => {
    const message = messageOfEnd(failed('exchange_unauthorized'), { event: 'failed', cause: 'x' })
    expect(bodyOf(message, 'slack', 'first')).toMatchObject({ text: expect.stringMatching(/^nightly-sync failed/) })
    expect(bodyOf(message, 'slack')).toMatchObject({ text: expect.stringMatching(/^At first: nightly-sync failed/) })
    expect(JSON.stringify(bodyOf(message, 'teams', 'second'))).toContain('"At first: nightly-sync failed')
    expect(bodyOf(message, 'json', 'second')).toBe(message)
  })

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
    expect(bodyOf(message, 'teams', 'first')).toMatchObject({
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
