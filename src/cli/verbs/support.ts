import { open, rm } from 'node:fs/promises'
import { arch, freemem, platform, release, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { stringify } from 'yaml'
import { secretsOfAddress, secretValues, showableConfig } from '../../config/show-config.ts'
import { migrationNames } from '../../db/migration-names.ts'
import type { Finding, Ward } from '../../doctor/ward.ts'
import { databaseFacts, logWithoutRows, tarGz, withoutRows } from '../../support/support-file.ts'
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
import { openWard } from '../open-ward.ts'
import { conceal, concealJson, concealLine } from '../scrubbing.ts'
import { diagnosis } from './doctor.ts'

export type SupportOptions = CommonOptions & { out: string; log?: string; withRows?: boolean; force?: boolean }

/** `nightferry support`: what somebody who helps needs to know, in one file and without secrets. */
export async function support(cli: Cli, options: SupportOptions): Promise<ExitCode> {
  const out = resolve(cli.workingFolder, options.out)
  await using ward = openWard(cli, options)
  const files = await gathered(cli, options, ward)
  const clean = scrubber(await secretsOf(cli, ward))
  const scrubbed = new Map([...files].map(([name, text]) => [`nightferry-support/${name}`, clean(name, text)]))
  // A file that is there keeps its mode, no matter who may read it.
  if (options.force) await rm(out, { force: true })
  await writeNewFile(out, tarGz(scrubbed, cli.now()), { mode: 0o600, flag: 'wx' })
  if (options.json)
    printJson(cli.stdout, { file: out, files: [...scrubbed.keys()], with_rows: options.withRows === true })
  else {
    const rows = options.withRows
      ? 'It quotes rows: mind whom you send it to.'
      : 'It holds no row and no name of a hotel.'
    printLine(
      cli.stdout,
      `Wrote ${out} (mode 600), with ${scrubbed.size} files and without secrets. ${rows} Look at it before you send it.`,
    )
  }
  return exitCodes.well
}

/** Each file by its kind: a log may hold lines of other programs, which are no JSON. */
function scrubber(secrets: readonly string[]): (name: string, text: string) => string {
  const [inText, inJson, inLine] = [conceal(secrets), concealJson(secrets), concealLine(secrets)]
  return (name, text) => {
    if (name === 'configuration.yaml') return inText(text)
    return name === 'log.txt' ? text.split('\n').map(inLine).join('\n') : inJson(text)
  }
}

async function gathered(cli: Cli, options: SupportOptions, ward: Ward): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const asText = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
  const kept = (value: unknown) => (options.withRows ? value : withoutRows(value))
  files.set('versions.json', asText(await versions(cli)))
  files.set('configuration.yaml', await configuration(ward))
  files.set('doctor.json', asText((await diagnosis(cli, ward)).map((finding) => shown(finding, options))))
  for (const [name, gather] of Object.entries(databaseFacts)) {
    try {
      const { db } = await ward.own()
      const value = await gather(db)
      files.set(name, asText(rowless.has(name) ? value : kept(value)))
    } catch (error) {
      files.set(name, asText({ not_gathered: (error as Error).message }))
    }
  }
  if (options.log !== undefined) {
    const tail = await tailOf(resolve(cli.workingFolder, options.log))
    files.set('log.txt', options.withRows ? tail : logWithoutRows(tail))
  }
  return files
}

/** What says nothing of rows, and whose texts are of use. */
const rowless = new Set(['server.json', 'tables.json', 'migrations.json', 'queue.json', 'ledger.json'])

/** Checks whose words repeat those of others, which may quote a row. */
const quoting = new Set(['last_runs', 'stream_query', 'notify_delivered'])

function shown(finding: Finding, { withRows }: SupportOptions): Finding {
  if (withRows || finding.level === 'ok' || !quoting.has(finding.id)) return finding
  return { ...finding, what: 'left out, because it may quote a row; --with-rows keeps it' }
}

async function versions({ now }: Cli): Promise<object> {
  return {
    nightferry: ownVersion(),
    schema: migrationNames.at(-1),
    node: process.versions.node,
    system: `${platform()} ${release()} ${arch()}`,
    memory_bytes: totalmem(),
    memory_free_bytes: freemem(),
    at: now(),
  }
}

async function configuration(ward: Ward): Promise<string> {
  try {
    return stringify(showableConfig(await ward.config()))
  } catch (error) {
    return `# It cannot be read:\n${String((error as Error).message).replaceAll(/^/gm, '# ')}\n`
  }
}

/** Also where the configuration cannot be read: then whatever the environment sets may be one. */
async function secretsOf({ environment }: Cli, ward: Ward): Promise<string[]> {
  const known = await ward.config().then(secretValues, () => [])
  const set = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && value.length >= shortestSecret && /(_KEY|_URL|_PASSWORD|_TOKEN|_SECRET)$/.test(name)
      ? [value]
      : [],
  )
  // The address of a proxy is of use, but for its password.
  const proxies = Object.entries(environment).flatMap(([name, value = '']) => (/_PROXY$/i.test(name) ? [value] : []))
  const passwords = [...set, ...proxies].flatMap(secretsOfAddress)
  // The address of the service is no secret, and is of use.
  const open = new Set([environment.EXCHANGE_BASE_URL, environment.NIGHTFERRY_EXCHANGE_BASE_URL])
  return [...known, ...[...set, ...passwords].filter((value) => value.length >= shortestSecret && !open.has(value))]
}

const shortestSecret = 4

/** So much of the end of a log tells what happened last. Bytes. */
const mostLog = 1024 * 1024

async function tailOf(path: string): Promise<string> {
  const file = await open(path).catch((error: Error) => {
    throw new UsageError(`--log ${path} cannot be read: ${error.message}`)
  })
  try {
    const { size } = await file.stat()
    const from = Math.max(0, size - mostLog)
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(Math.min(size, mostLog)),
      0,
      Math.min(size, mostLog),
      from,
    )
    const text = buffer.subarray(0, bytesRead).toString('utf8')
    return from === 0 ? text : text.slice(text.indexOf('\n') + 1)
  } finally {
    await file.close()
  }
}
