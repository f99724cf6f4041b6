import { isSection } from '../config/load-config.ts'
import type { Config } from '../config/schema.ts'
import { secretValues } from '../config/show-config.ts'
import { areWebhooksConfigured } from '../webhooks/check-webhook-settings.ts'
import type { Ferry } from './open-ferry.ts'

/**
 * Settings and sections whose values are read each time that they are needed, so a running process can take new ones.
 * The rest shaped what was opened at the start: connections, workers, the client, the contract.
 */
const reloadable = [
  'engine.shutdownMs',
  'exchange.pollIntervalMs',
  'exchange.proxy',
  'exchange.requestsPerSecond',
  'exchange.taskPatienceMs',
  'http.readToken',
  'http.token',
  'jobs',
  'log.level',
  'notify',
  'push',
]

/** The same while a receiver listens: it is there from the start, or not at all. */
const reloadableByReceiver = ['webhooks.secrets', 'webhooks.headerName', 'webhooks.headerValue']

function isReloadable(path: string, receives: boolean): boolean {
  const known = receives ? [...reloadable, ...reloadableByReceiver] : reloadable
  return known.some((one) => path === one || path.startsWith(`${one}.`))
}

/**
 * Reads the configuration again and takes over what can be taken over by a running process; the log says what was, and
 * names what needs a restart. A configuration with an error changes nothing at all.
 * @param read loads and checks the configuration as at the start; it throws what is wrong with it.
 * @returns whether the configuration could be used.
 */
export function reloadConfig(ferry: Pick<Ferry, 'deps' | 'logger' | 'secrets'>, read: () => Config): boolean {
  const { deps, logger, secrets } = ferry
  let next: Config
  try {
    next = read()
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: string }
    logger.error({ code, error: message }, 'configuration_refused')
    return false
  }
  const changed = changedSettings(deps.config, next)
  const receives = areWebhooksConfigured(deps.config.webhooks) && areWebhooksConfigured(next.webhooks)
  const taken = changed.filter((path) => isReloadable(path, receives))
  const left = changed.filter((path) => !isReloadable(path, receives))
  // Before anything can be logged that holds one of them.
  secrets.push(...secretValues(next).filter((secret) => !secrets.includes(secret)))
  takeOverSettings(deps.config, next, taken)
  logger.level = deps.config.log.level
  logger.info({ settings: taken }, 'configuration_reloaded')
  if (left.length > 0) logger.warn({ settings: left }, 'settings_need_restart')
  return true
}

/** Settings by name, sections within sections. */
type Section = Record<string, unknown>

/**
 * The paths of the settings in which two configurations differ, in alphabetical order. A list is one setting, and so is
 * a section that one of the two does not have.
 */
export function changedSettings(before: Section, after: Section, above: readonly string[] = []): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap((name) => {
    const [old, now, path] = [before[name], after[name], [...above, name]]
    if (isSection(old) && isSection(now)) return changedSettings(old, now, path)
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [path.join('.')]
  })
}

/** Puts the values that `source` has at the paths into `target`, whose sections stay the same objects. */
export function takeOverSettings(target: Section, source: Section, paths: readonly string[]): void {
  for (const path of paths) {
    const names = path.split('.')
    const last = names.pop() ?? path
    const [to, from] = [sectionAt(target, names), sectionAt(source, names)]
    if (last in from) to[last] = from[last]
    else delete to[last]
  }
}

function sectionAt(settings: Section, names: readonly string[]): Section {
  return names.reduce((section, name) => section[name] as Section, settings)
}
