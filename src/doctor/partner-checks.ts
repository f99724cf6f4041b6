import { hasStreams } from '../config/known-names.ts'
import type { ProtectionLack } from '../db/tables/run-tables.ts'
import type { FileRights, PartnerRights } from '../partner/examination.ts'
import { partnerEncryption } from '../partner/partner-snapshot.ts'
import { shapeOf } from '../pipeline/streams/our-streams.ts'
import { advice, type Check, error, type Found, judgeEncryption, ok, on, type Ward, warning } from './ward.ts'

/** What is known of a stream's query. */
type StreamLook = {
  stream: string
  /** Null with capture: snapshot. */
  cursor: string | null
  dialect: string
  failure: Error | null
  plan: { rows: number | null; cost: number | null; indexed: boolean | null } | null
  cursorType: string | null
  protection: string | null
}

const readOnlyRole = 'make a role that may do nothing but select, and put it into PARTNER_DATABASE_URL'

/** Pure. */
export function judgeRights({ administrator, writes, count, untold, file }: PartnerRights): Found[] {
  if (file !== undefined) return judgeFileRights(file)
  const rest = untold === null ? '' : `; ${untold} was not looked at`
  if (administrator)
    return [warning(`The role is an administrator of the server and may do everything${rest}`, readOnlyRole)]
  if (count > 0) {
    const more = count > writes.length ? `, and ${count - writes.length} more` : ''
    return [warning(`The role could ${writes.join(', ')}${more}${rest}`, readOnlyRole)]
  }
  if (untold !== null) return [advice(`The role itself can only read; ${untold} was not looked at`, readOnlyRole)]
  return [ok('The role can only read')]
}

/**
 * In WAL mode SQLite makes files beside the file, also to read it, and leaves them there as its user's own: the
 * application can then go on only if it may write them. Pure.
 */
function judgeFileRights({ wal, file, folder }: FileRights): Found[] {
  const opened = '(Nightferry opens it to read only)'
  if (!wal) {
    if (!file) return [ok('This user can only read the file')]
    return [warning(`This user could write the file ${opened}`, 'run Nightferry as a user who may only read the file')]
  }
  const remedy =
    'run Nightferry as the user who writes the file, or give the file another journal mode (pragma journal_mode = delete)'
  if (!folder) {
    const what = 'it can be read only while another process has it open'
    return [warning(`The file is in WAL mode, and this user may not write its folder: ${what}`, remedy)]
  }
  if (!file) {
    const what = 'the application may be unable to write the files that are left there after a run'
    return [warning(`The file is in WAL mode, and this user may write its folder but not the file: ${what}`, remedy)]
  }
  return [
    advice(
      `The file is in WAL mode, so this user has to be able to write it and its folder ${opened}`,
      'leave it so; or give the file another journal mode, and run Nightferry as a user who may only read it',
    ),
  ]
}

/** Whether late commits are found by the transactions that the server shows. Pure. */
export function judgeProtection(lacks: ProtectionLack | null, url: string, overlapMs: number): Found[] {
  const overlap = `rows that are committed later than partner.overlapMs (${overlapMs / 1000} s) are found by the next full comparison only`
  switch (lacks) {
    case null:
      if (!url.startsWith('file:')) return [ok('The server shows its open transactions, so late commits are found')]
      return [ok(`SQLite lists no transactions: ${overlap}`)]
    case 'standby':
      return [
        advice(
          `The server is a standby, and does not show what is open at its primary: ${overlap}`,
          'read from the primary, or set partner.overlapMs above your longest transaction and the lag together',
        ),
      ]
    case 'track_activities':
      return [
        advice(
          `Sessions of the server do not show what they do (track_activities): ${overlap}`,
          'switch track_activities on, or set partner.overlapMs above your longest transaction',
        ),
      ]
    case 'subscriber':
      return [
        advice(
          `The database gets rows by a subscription, and does not show what is open at their publisher: ${overlap}`,
          'read from the publisher, or set partner.overlapMs above your longest transaction and the lag together',
        ),
      ]
    case 'prepared':
      return [
        advice(
          `A transaction is prepared, and the server does not show when it began: ${overlap}`,
          'commit it or roll it back (pg_prepared_xacts), or set partner.overlapMs above your longest transaction',
        ),
      ]
    case 'privilege': {
      const grant = /^(mysql|mariadb):/.test(url)
        ? 'grant process'
        : /^(sqlserver|mssql):/.test(url)
          ? 'grant view server state'
          : 'grant pg_read_all_stats'
      return [
        advice(
          `The role may not see the transactions of others: ${overlap}`,
          `${grant} to the role, or set partner.overlapMs above your longest transaction`,
        ),
      ]
    }
  }
}

/** So many rows are no small thing to read whole. */
const manyRows = 50_000_000

/** Pure. */
function judgeQuery({ stream, failure, plan }: StreamLook): Found[] {
  if (failure !== null) return [error(failure.message, `fix streams.${stream}.query`, stream)]
  const rows = plan?.rows ?? null
  const cost = plan?.cost ?? null
  const words = [
    ...(rows === null ? [] : [`the server expects ${Math.round(rows)} rows`]),
    ...(cost === null ? [] : [`at a cost of ${Math.round(cost)} in its own unit`]),
  ]
  const told = words.length === 0 ? 'the server does not say what it costs' : words.join(' ')
  const what = `Yields its columns; ${told}`
  if (rows === null || rows < manyRows) return [ok(what, stream)]
  return [
    advice(
      `${what}, which takes a long first night`,
      `nightferry plan first; look at the joins of streams.${stream}.query if the number is wrong`,
      stream,
    ),
  ]
}

/** Pure. */
export function judgeCursor({ stream, cursor, dialect, failure, plan, cursorType, protection }: StreamLook): Found[] {
  if (cursor === null) return [ok('All rows are read each time (capture: snapshot), so no cursor is needed', stream)]
  if (failure !== null) return [warning('not looked at: see stream_query', `fix streams.${stream}.query`, stream)]
  const named = `The cursor ${cursor}${cursorType === null ? '' : ` (${cursorType})`}`
  const found: Found[] = []
  if (protection === 'none') {
    found.push(
      warning(
        `${named} is no time: a run misses rows that are committed late until the next full comparison`,
        `use a time that grows with every change as streams.${stream}.cursor, or capture: snapshot`,
        stream,
      ),
    )
  }
  if (dialect === 'file') {
    if (found.length === 0) found.push(ok(`${named} is compared with every row, as SQLite does it`, stream))
  } else if (plan?.indexed === false) {
    found.push(
      advice(
        `${named} is served by no index: all rows are read every night`,
        `make an index on the column behind ${cursor}; a cursor computed over joined tables cannot have one`,
        stream,
      ),
    )
  } else if (plan?.indexed === null) {
    found.push(
      advice(`${named}: whether an index serves it cannot be told`, 'look at the plan of the query yourself', stream),
    )
  }
  return found.length > 0 ? found : [ok(`${named} is served by an index`, stream)]
}

const checksOfPartner: readonly Check[] = [
  {
    id: 'partner_reached',
    group: 'partner',
    why: 'A run that cannot read the partner sends nothing new.',
    run: async (ward) => {
      const { partner } = await on(ward.config, 'configuration')
      const todo = partner.url?.startsWith('file:')
        ? 'do what this message says'
        : 'check PARTNER_DATABASE_URL, and that the server is up and lets this machine in'
      return await ward.partner().then(
        ({ product }) => [ok(`Reached: ${product}`)],
        (unreached: Error & { code?: unknown }) => [
          error(
            unreached.message,
            unreached.code === 'partner_too_old' ? 'upgrade that server, or read from a newer one' : todo,
          ),
        ],
      )
    },
  },
  {
    id: 'partner_encryption',
    group: 'partner',
    why: 'All that is read of your hotels comes over this connection.',
    run: async (ward) => {
      await on(ward.partner, 'partner_reached')
      const { partner } = await on(ward.config, 'configuration')
      const url = partner.url ?? ''
      const parameter = url.startsWith('postgres') ? '?sslmode=verify-full' : '?ssl=true'
      return judgeEncryption(await partnerEncryption(url), parameter, 'PARTNER_DATABASE_URL')
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

/** The same check, which is well where nothing is sent and there is no database to read. */
export function ofPartner(check: Check): Check {
  return {
    ...check,
    run: async (ward) => {
      const { streams, partner } = await on(ward.config, 'configuration')
      if (partner.url === null && !hasStreams({ streams })) return [ok('There is no stream, so no database is read')]
      return await check.run(ward)
    },
  }
}

export const partnerChecks: readonly Check[] = checksOfPartner.map(ofPartner)

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
