import { createHash } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { requirementsOf } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { counted } from '../../counted.ts'
import type { Database } from '../../db/database.ts'
import { type HotelEvidence, type SentRow, withEvidence } from '../../db/trace/gather-evidence.ts'
import type { TracedSubmission } from '../../db/trace/trace-rows.ts'
import type { Contract } from '../../exchange/contract.ts'
import { StopRun } from '../../pipeline/deps.ts'
import { resendPolicies } from '../../pipeline/preflight/judgements.ts'
import { elementsOfHotel } from '../../pipeline/push/sending/elements-of-hotel.ts'
import { findBody, NoBody, readPayload, whyUnread } from '../../pipeline/push/sending/kept-body.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  ownVersion,
  printJson,
  printLine,
  UsageError,
  writeNewFile,
} from '../cli.ts'
import { readContract } from '../read-config.ts'
import { csv } from '../show/readable.ts'
import { actingUser, requireHotel, withDatabase } from '../with-database.ts'

export type EvidenceOptions = CommonOptions & { partnerId: string; year?: number; out: string }

/** Where an element of a body is not there, and why. */
type Missing = { submission_id: number; code: string; why: string }

/**
 * `nightferry evidence`: what is known of one hotel, as a folder of files that stands for itself: its rows, what was
 * sent of them in which requests, what became of that, and what people did. The manifest with the digests of the files
 * is written last, so a folder without one is not whole.
 */
export async function evidence(cli: Cli, options: EvidenceOptions): Promise<ExitCode> {
  const { partnerId, year = null } = options
  const folder = resolve(cli.workingFolder, options.out)
  return await withDatabase(cli, options, async ({ db }, config) => {
    await requireHotel(db, partnerId)
    const contract = readContract(cli, config)
    const asked = { partnerId, year, requires: requirementsOf(config), policies: resendPolicies(config, contract) }
    const { files, missing } = await withEvidence(db, asked, async (trx, found) => {
      const bodies = await bodiesOf(trx, config, contract, partnerId, found.submissions)
      return { files: new Map([...filesOf(found), ...bodies.files]), missing: bodies.missing }
    })
    await makeFolder(folder)
    for (const [name, text] of files) await write(folder, name, text)
    const manifest = {
      what: 'What Nightferry knows of one hotel. Each file is named with the SHA-256 digest of its bytes.',
      partner_id: partnerId,
      year,
      made_at: cli.now(),
      made_by: actingUser(cli),
      nightferry: ownVersion(),
      service: config.exchange.baseUrl,
      files: [...files].map(([file, text]) => ({ file, bytes: Buffer.byteLength(text), sha256: digest(text) })),
      bodies_missing: missing,
    }
    await write(folder, 'manifest.json', asText(manifest))
    if (options.json) printJson(cli.stdout, { folder, ...manifest })
    else {
      printLine(cli.stdout, `${folder} holds ${counted(files.size + 1, 'file')} on hotel ${partnerId}.`)
      for (const { submission_id, why } of missing) printLine(cli.stdout, `Submission ${submission_id}: ${why}`)
      printLine(cli.stdout, `manifest.json has the SHA-256 digest ${digest(asText(manifest))}.`)
    }
    return exitCodes.well
  })
}

/** @throws {UsageError} when it cannot be made, or holds something: what was there before would pass for evidence. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if ((await readdir(folder)).length === 0) return
  } catch (error) {
    throw new UsageError(`--out ${folder} cannot be made: ${(error as Error).message}. Name another folder.`)
  }
  throw new UsageError(`--out ${folder} holds files already: name a folder that is not there yet`)
}

async function write(folder: string, name: string, text: string): Promise<void> {
  await writeNewFile(join(folder, name), text, { mode: 0o600, flag: 'wx' })
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function asText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function filesOf({ company, rows, sent, submissions, actions }: HotelEvidence): [string, string][] {
  const carriers = new Map(submissions.map((submission) => [submission.submission_id, submission]))
  return [
    ['company.json', asText(company)],
    ['rows.json', asText(rows)],
    ['sent.json', asText(sent)],
    [
      'sent.csv',
      csv(
        sentColumns,
        sent.map((row) => sentRow(row, carriers.get(row.submission_id))),
      ),
    ],
    ['submissions.json', asText(submissions)],
    ['actions.json', asText(actions)],
  ]
}

const sentColumns = [
  'submission_id',
  'run_id',
  'kind',
  'correlation_id',
  'task_status',
  'attempted_at',
  'accepted_at',
  'terminal_at',
  'settled_at',
  'stream',
  'row_key',
  'sent_hash',
  'outcome',
  'code',
  'reason',
  'content',
]

function sentRow(row: SentRow, carrier: TracedSubmission | undefined): (string | number | null)[] {
  const at = (moment: Date | null | undefined) => moment?.toISOString() ?? null
  return [
    row.submission_id,
    carrier?.run_id ?? null,
    carrier?.kind ?? null,
    carrier?.correlation_id ?? null,
    carrier?.task_status ?? null,
    at(carrier?.attempted_at),
    at(carrier?.accepted_at),
    at(carrier?.terminal_at),
    at(carrier?.settled_at),
    row.stream,
    row.row_key,
    row.sent_hash,
    row.outcome,
    row.code,
    row.reason,
    row.content === null ? null : JSON.stringify(row.content),
  ]
}

/** What each request's body says of the hotel, as it was sent, in a file of its own. */
async function bodiesOf(
  db: Database,
  config: Config,
  contract: Contract,
  partnerId: string,
  submissions: readonly TracedSubmission[],
): Promise<{ files: [string, string][]; missing: Missing[] }> {
  const files: [string, string][] = []
  const missing: Missing[] = []
  const keptDays = config.push.keepPayloadsDays
  for (const { submission_id: id, kind } of submissions) {
    try {
      const body = await findBody(db, id, keptDays)
      const elements: string[] = []
      const read = elementsOfHotel(contract, kind, partnerId, readPayload(db, id))
      try {
        for await (const element of read) elements.push(element)
      } catch (error) {
        throw await whyUnread(db, body, keptDays, error)
      }
      files.push([`sent-${id}.json`, `[\n${elements.join(',\n')}\n]\n`])
    } catch (error) {
      // Also where the contract does not know the kind any more, so that nobody can tell how it names a hotel.
      if (!(error instanceof NoBody || error instanceof StopRun)) throw error
      missing.push({ submission_id: id, code: error.code, why: error.message })
    }
  }
  return { files, missing }
}
