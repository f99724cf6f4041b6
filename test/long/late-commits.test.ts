import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import { expect, it } from 'vitest'
import { extractNow, openPartner, type Partner } from '../pipeline/delta/partner.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'

const times = fc.double({ min: 0.1, max: 3, noNaN: true })

/**
 * What a writer does, one after another, beside the extractions. It rests for so many times as long as an extraction
 * takes just now: on a busy machine both take longer, and commits come as late as on an idle one.
 */
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('write' as const), tied: fc.boolean() }) },
  { weight: 3, arbitrary: fc.constant({ does: 'commit' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'roll back' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('rest' as const), times }),
  },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

const writers = 4
const night = fc.record({
  work: fc.array(fc.array(action, { minLength: 4, maxLength: 12 }), { minLength: writers, maxLength: writers }),
  /** Each begins so many extractions' times after the one before, and reads and compares everything or what is new. */
  extractions: fc.array(fc.record({ whole: fc.boolean(), after: times }), { minLength: 1, maxLength: 4 }),
  fetchRows: fc.integer({ min: 1, max: 5 }),
})

/** Nights go on side by side, each group with databases of its own, because most of a night is waiting. */
const groups = 4
const nights = 100

it(`an extraction loses no row in ${nights} random nights of transactions that commit late, half of their rows with equal times`, {
  timeout: 900_000,
}, async () => {
  const seen = { nights: 0, late: 0, written: 0, tied: 0, lost: 0 }
  const oneGroup = async () => {
    const group = await openGroup()
    try {
      await fc.assert(
        fc.asyncProperty(night, async (random) => {
          const { wanted, landed, late } = await group.night(random, seen)
          seen.nights += 1
          if (late) seen.late += 1
          seen.lost += wanted.filter((code) => !landed.includes(code)).length
          expect(landed).toEqual(wanted)
        }),
        { numRuns: nights / groups },
      )
    } finally {
      await group.close()
    }
  }
  // Nights without a row that was committed late would prove nothing, and on a busy machine there are more of them.
  while (seen.late <= nights / 10) await Promise.all(Array.from({ length: groups }, oneGroup))
  process.stderr.write(`${JSON.stringify(seen)}\n`)
  expect(seen.nights).toBeGreaterThanOrEqual(nights)
  expect(seen.lost).toBe(0)
  expect(seen.tied / seen.written).toBeGreaterThan(0.4)
})

type Night = typeof night extends fc.Arbitrary<infer T> ? T : never

async function openGroup() {
  const ferry = await openFerry()
  const partner = await openPartner()
  const clients = Array.from({ length: writers }, () => new pg.Client({ connectionString: partner.url }))
  await Promise.all(clients.map((client) => client.connect()))
  return {
    night: (random: Night, seen: { written: number; tied: number }) => oneNight(ferry, partner, clients, random, seen),
    close: async () => {
      await Promise.all(clients.map((client) => client.end()))
      await partner.close()
      await ferry.close()
    },
  }
}

async function oneNight(
  ferry: Ferry,
  partner: Partner,
  clients: readonly pg.Client[],
  random: Night,
  seen: { written: number; tied: number },
) {
  await ferry.clear()
  await partner.pool.query('truncate hotel')
  const read = () => extractNow(ferry, partner, { properties: {} }, { overlapMs: 0, fetchRows: random.fetchRows })
  // How long an extraction takes just now, in milliseconds.
  const pace = { ms: 20 }
  // A time that several transactions write: taken when the youngest of them began, so that it is before none.
  const shared = { at: '' }
  const work = clients.map((client, index) =>
    perform(client, random.work[index] ?? [], `H-${index}`, { shared, pace, seen }),
  )
  const found: string[][] = []
  const reading = (async () => {
    for (const { whole, after } of random.extractions) {
      await delay(after * pace.ms)
      if (whole) await ferry.ledger.pool.query('update stream_reading set whole_at = null')
      const began = performance.now()
      await read()
      pace.ms = performance.now() - began
      found.push(await landedIn(ferry))
    }
  })()
  await Promise.all([...work, reading])
  await read()
  const landed = await landedIn(ferry)
  const { rows } = await partner.pool.query<{ code: string; at: string }>(
    'select code, extract(epoch from at)::text as at from hotel order by code collate "C"',
  )
  const at = new Map(rows.map((row) => [row.code, Number(row.at)]))
  return { wanted: rows.map(({ code }) => code), landed, late: cameLate([...found, landed], at) }
}

/** Whether an extraction found a row that is older than one that an extraction before it had found. */
function cameLate(found: readonly string[][], at: ReadonlyMap<string, number>): boolean {
  return found.some((codes, nth) => {
    const known = found[nth - 1] ?? []
    const newest = Math.max(...known.map((code) => at.get(code) ?? 0))
    return codes.some((code) => !known.includes(code) && (at.get(code) ?? 0) < newest)
  })
}

/** What the writers of one night share. */
type Surroundings = {
  shared: { at: string }
  pace: { readonly ms: number }
  seen: { written: number; tied: number }
}

async function perform(
  client: pg.Client,
  actions: readonly Action[],
  prefix: string,
  { shared, pace, seen }: Surroundings,
): Promise<void> {
  let open = false
  for (const [index, next] of actions.entries()) {
    if (next.does === 'rest') await delay(next.times * pace.ms)
    else if (next.does === 'write') {
      if (!open) {
        await client.query('begin')
        open = true
        const began = await now(client)
        if (began > shared.at) shared.at = began
      }
      const at = next.tied ? shared.at : await now(client)
      await client.query('insert into hotel (code, name, at) values ($1, $1, $2)', [`${prefix}-${index}`, at])
      seen.written += 1
      if (next.tied) seen.tied += 1
    } else if (open) {
      await client.query(next.does === 'commit' ? 'commit' : 'rollback')
      open = false
    }
  }
  if (open) await client.query('commit')
}

async function now(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ at: string }>(
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || '+00' as at`,
  )
  return rows[0]?.at ?? ''
}

async function landedIn(ferry: Ferry): Promise<string[]> {
  const { rows } = await ferry.ledger.pool.query<{ partner_id: string }>(
    `select partner_id from source_row where stream = 'properties' and gone_at is null order by partner_id collate "C"`,
  )
  return rows.map(({ partner_id }) => partner_id)
}
