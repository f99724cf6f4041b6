import { shapeOf } from '../pipeline/streams/stream-shape.ts'
import { error, type Found, ok } from './finding.ts'
import { judgeCursor, judgeProtection, judgeQuery, judgeRights, type StreamLook } from './judge-partner.ts'
import { type Check, on, type Ward } from './ward.ts'

export const partnerChecks: readonly Check[] = [
  {
    id: 'partner_reached',
    group: 'partner',
    why: 'A run that cannot read the partner sends nothing new.',
    run: async (ward) => {
      await on(ward.config, 'configuration')
      return await ward.partner().then(
        ({ product }) => [ok(`Reached: ${product}`)],
        (unreached: Error) => [
          error(unreached.message, 'check PARTNER_DATABASE_URL, and that the server is up and lets this machine in'),
        ],
      )
    },
  },
  {
    id: 'partner_role',
    group: 'partner',
    why: 'Nightferry only reads there. A role that can do no more makes sure that no mistake, in a query or in Nightferry, ever changes your data.',
    run: async (ward) => judgeRights(await (await on(ward.partner, 'partner_reached')).rights()),
  },
  {
    id: 'partner_transactions',
    group: 'partner',
    why: 'A row that is committed late carries an early time. Nightferry finds it by the transactions that were open, or, where these do not show, only within partner.overlapMs.',
    run: async (ward) => {
      await on(ward.partner, 'partner_reached')
      const { partner } = await on(ward.config, 'configuration')
      const snapshot = await ward.partnerSnapshot()
      try {
        return judgeProtection(snapshot.lacks, partner.url ?? '', partner.overlapMs)
      } finally {
        await snapshot.close()
      }
    },
  },
  {
    id: 'stream_query',
    group: 'partner',
    why: 'A run stops at a query that fails. What a whole reading costs is what the first night costs, and every fullEvery.',
    run: (ward) => ofStreams(ward, async (look) => judgeQuery(look)),
  },
  {
    id: 'stream_cursor',
    group: 'partner',
    why: 'A night reads the rows past the cursor. Without an index the server reads all of them each time; a cursor that is no time finds no row that is committed late.',
    run: (ward) => ofStreams(ward, async (look) => judgeCursor(look)),
  },
]

/** Each stream in a snapshot of its own, so that one that fails leaves the others alone. */
async function ofStreams(ward: Ward, judge: (look: StreamLook) => Promise<Found[]>): Promise<Found[]> {
  await on(ward.partner, 'partner_reached')
  const { streams, partner } = await on(ward.config, 'configuration')
  const contract = await on(ward.contract, 'contract')
  const dialect = (partner.url ?? '').split(':')[0] ?? ''
  const found: Found[] = []
  for (const [stream, settings] of Object.entries(streams)) {
    if (settings === undefined) continue
    const cursor = settings.capture === 'cursor' ? (settings.cursor ?? null) : null
    const { columns } = shapeOf(contract, stream)
    const query = { stream, query: settings.query, columns, fetchRows: partner.fetchRows, cursor }
    const look: StreamLook = { stream, cursor, dialect, failure: null, plan: null, cursorType: null, protection: null }
    const snapshot = await ward.partnerSnapshot()
    try {
      look.plan = await snapshot.explain(query)
      look.protection = await snapshot.check(query)
      if (cursor !== null) look.cursorType = await snapshot.cursorType({ ...query, cursor })
    } catch (failure) {
      look.failure = failure as Error
    } finally {
      await snapshot.close()
    }
    found.push(...(await judge(look)))
  }
  return found.length > 0 ? found : [ok('There is no stream')]
}
