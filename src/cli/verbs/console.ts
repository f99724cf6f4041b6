import { randomBytes } from 'node:crypto'
import { requireToServe } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { settingsInForce } from '../../config/show-config.ts'
import { openLinkProof, type SessionTokens, sealLinkRequest } from '../../http/console/console-door.ts'
import type { HttpContext } from '../../http/route.ts'
import { startHttp } from '../../http/start-http.ts'
import { loadDialect } from '../../partner/partner-snapshot.ts'
import { needsGroup } from '../../pipeline/streams/our-streams.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  ownVersion,
  printJson,
  printLine,
  untilInterrupted,
} from '../cli.ts'
import { openIdleFerry } from '../open-ferry.ts'
import { openInBrowser } from '../open-in-browser.ts'
import { configFileOf, readConfig, readContract } from '../read-config.ts'
import { concealJson } from '../scrubbing.ts'
import { actingUser } from '../with-database.ts'

export type ConsoleOptions = CommonOptions & { browser?: boolean }

/**
 * `nightferry console`: a link that signs in once, to the console of the daemon that listens on `http.port`. Where none
 * does that knows the token, this process serves the console itself until it is told to end: on loopback, for the
 * person who has the link.
 */
export async function openConsole(cli: Cli, options: ConsoleOptions): Promise<ExitCode> {
  const config = readConfig(cli, options)
  const address = addressOf(config.http)
  const link = address === null ? null : await linkTo(cli, address, config.http)
  if (link !== null) {
    await show(cli, options, link)
    return exitCodes.well
  }
  requireToServe(config, needsGroup(readContract(cli, config), config.streams))
  await withOwnConsole(cli, config, await consoleAsks(cli, options, config), async (own) => {
    await show(cli, options, own)
    printLine(cli.stderr, 'The console is served until you press Ctrl-C.')
    await untilInterrupted(cli)
  })
  return exitCodes.well
}

/** Where the daemon listens, as this machine reaches it; null: it has no port, or any. */
function addressOf({ port, host, certificateFile, allowedHosts }: Config['http']): string | null {
  if (port === null || port === 0) return null
  // A certificate is made out to a name.
  const [name] = certificateFile === null ? [] : allowedHosts
  const shown = name ?? (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host)
  const scheme = certificateFile === null ? 'http' : 'https'
  return `${scheme}://${shown.includes(':') ? `[${shown}]` : shown}:${port}`
}

async function show(cli: Cli, { json, browser }: ConsoleOptions, link: string): Promise<void> {
  if (json) return printJson(cli.stdout, { link })
  printLine(cli.stdout, link)
  const opened = browser !== false && cli.stdout.isTTY === true && (await openInBrowser(cli, link))
  printLine(
    cli.stderr,
    opened ? 'Opened in your browser.' : 'Open it in a browser: it signs in once, within 5 minutes.',
  )
}

/** How long a daemon may take to say that it is there. Milliseconds. */
const patienceMs = 2_000

/**
 * Serves the console from this process, on a free port of loopback, with a token that nobody else learns.
 * @param work is given a link that signs in once; the console is there until it ends.
 */
export async function withOwnConsole(
  cli: Cli,
  config: Config,
  asks: HttpContext['asks'],
  work: (link: string) => Promise<void>,
): Promise<void> {
  const ferry = await openIdleFerry(cli, config)
  try {
    const { partnerUrl } = ferry.deps.required
    if (partnerUrl !== null) await loadDialect({ url: partnerUrl })
    const token = randomBytes(32).toString('base64url')
    ferry.secrets.push(token)
    const tls = { certificateFile: null, keyFile: null }
    const http = { ...config.http, ...tls, token, readToken: null, host: '127.0.0.1', port: 0 }
    const deps = { ...ferry.deps, config: { ...config, http } }
    const server = await startHttp(deps, ferry.database.url, ownVersion(), concealJson(ferry.secrets), asks)
    try {
      const link = await linkTo(cli, server.url, http)
      if (link === null) throw new Error('the console that was started does not answer')
      await work(link)
    } finally {
      await server.close()
    }
  } finally {
    await ferry.close()
  }
}

/** The longest answer about links. Bytes. */
const maxAnswerBytes = 16 * 1024

/**
 * A link that signs in once, as the person who calls the verb. Null where nobody answers who proves that they know the
 * token: another program would show a page of its own there, and ask for it.
 */
async function linkTo(cli: Cli, base: string, tokens: SessionTokens): Promise<string | null> {
  const by = actingUser(cli)
    .user.replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, 100)
  let status = 0
  const ask = async (init: RequestInit) => {
    const signal = AbortSignal.timeout(patienceMs)
    const answer = await fetch(`${base}/console/links`, { ...init, redirect: 'manual', signal })
    status = answer.status
    if (!answer.ok) throw new Error(`the answer is ${answer.status}`)
    return JSON.parse(await shortText(answer)) as Record<string, unknown>
  }
  try {
    const nonce = String((await ask({})).nonce)
    const asked = sealLinkRequest(nonce, by, tokens)
    if (asked === null) return null
    const body = JSON.stringify({ asked })
    const { proof } = await ask({ method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const code = openLinkProof(String(proof), nonce, tokens)
    if (code === null) throw new Error('the answer is no proof')
    // What follows the # stays in the browser: it is in no log and in no Referer.
    return `${base}/console/#once=${code}`
  } catch {
    if (status !== 0) printLine(cli.stderr, whyNoLink(base, status))
    return null
  }
}

/** Why what listens there gave no link. A daemon says 421 to a host that it does not serve, and asks for no token. */
function whyNoLink(base: string, status: number): string {
  if (status === 421) {
    const host = new URL(base).hostname
    const unknown = `What listens on ${base} answers 421, it does not serve that host.`
    return `${unknown} If it is yours, name ${host} in http.allowedHosts.`
  }
  const wrong = `What listens on ${base} does not prove that it knows the token of this configuration.`
  return `${wrong} Do not give it the token. A daemon of an older version has to be restarted first.`
}

/** @throws {Error} when it is longer than answers about links are. */
async function shortText({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    if (bytes > maxAnswerBytes) throw new Error(`the answer is longer than ${maxAnswerBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

/** What the HTTP API lets the command line look at: the doctor's checks, and where each setting comes from. */
export async function consoleAsks(cli: Cli, options: CommonOptions, config: Config): Promise<HttpContext['asks']> {
  // Not at the question: by then another version may be installed, and these files be gone.
  const { diagnosis } = await import('./doctor.ts')
  const { loadForWard, openWard } = await import('../open-ward.ts')
  await loadForWard()
  return {
    diagnose: async () => {
      await using ward = openWard(cli, options)
      return await diagnosis(cli, ward)
    },
    settings: () =>
      settingsInForce(config, {
        file: configFileOf(cli, options),
        environment: cli.environment,
        overrides: options.set ?? [],
      }),
  }
}
