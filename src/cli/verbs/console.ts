import type { Config } from '../../config/schema.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  printJson,
  printLine,
  untilInterrupted,
} from '../cli.ts'
import { openBrowser } from '../open-browser.ts'
import { consoleAsks, linkTo, withOwnConsole } from '../own-console.ts'
import { readConfig } from '../read-config.ts'

export type ConsoleOptions = CommonOptions & { browser?: boolean }

/**
 * `nightferry console`: a link that signs in once, to the console of the daemon that listens on `http.port`. Where none
 * does, this process serves the console itself until it is told to end: on loopback, for the person who has the link.
 */
export async function openConsole(cli: Cli, options: ConsoleOptions): Promise<ExitCode> {
  const config = readConfig(cli, options)
  const token = config.http.token ?? config.http.readToken
  const address = addressOf(config.http)
  const link = token === null || address === null ? null : await linkTo(cli, address, token)
  if (link !== null) {
    await show(cli, options, link)
    return exitCodes.well
  }
  await withOwnConsole(cli, config, consoleAsks(cli, options, config), async (own) => {
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
  const opened = browser !== false && cli.stdout.isTTY === true && (await openBrowser(cli, link))
  printLine(
    cli.stderr,
    opened ? 'Opened in your browser.' : 'Open it in a browser: it signs in once, within 5 minutes.',
  )
}
