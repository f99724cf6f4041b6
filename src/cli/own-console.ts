import { randomBytes } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import { settingsInForce } from '../config/show-config.ts'
import type { HttpContext } from '../http/route.ts'
import { startHttp } from '../http/start-http.ts'
import { actingUser } from './acting-user.ts'
import { type Cli, type CommonOptions, ownVersion } from './cli.ts'
import { openIdleFerry } from './open-ferry.ts'
import { configFileOf } from './read-config.ts'
import { conceal } from './scrubbing.ts'

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
    const token = randomBytes(32).toString('base64url')
    ferry.secrets.push(token)
    const tls = { certificateFile: null, keyFile: null }
    const http = { ...config.http, ...tls, token, readToken: null, host: '127.0.0.1', port: 0 }
    const deps = { ...ferry.deps, config: { ...config, http } }
    const server = await startHttp(deps, ferry.database.url, ownVersion(), conceal(ferry.secrets), asks)
    try {
      const link = await linkTo(cli, server.url, token)
      if (link === null) throw new Error('the console that was started does not answer')
      await work(link)
    } finally {
      await server.close()
    }
  } finally {
    await ferry.close()
  }
}

/** A link that signs in once, as the person who calls the verb; null where nobody answers who knows the token. */
export async function linkTo(cli: Cli, base: string, token: string): Promise<string | null> {
  const by = actingUser(cli)
    .user.replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, 100)
  try {
    const answer = await fetch(`${base}/console/links`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ by }),
      signal: AbortSignal.timeout(patienceMs),
    })
    if (!answer.ok) return null
    const { once } = (await answer.json()) as { once: string }
    // What follows the # stays in the browser: it is in no log and in no Referer.
    return `${base}/console/#once=${once}`
  } catch {
    return null
  }
}

/** What the HTTP API lets the command line look at: the doctor's checks, and where each setting comes from. */
export function consoleAsks(cli: Cli, options: CommonOptions, config: Config): HttpContext['asks'] {
  return {
    diagnose: async () => {
      const { diagnosis } = await import('./verbs/doctor.ts')
      const { openWard } = await import('./open-ward.ts')
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
