import type { Deps } from '../pipeline/deps.ts'
import type { Cli, CommonOptions } from './cli.ts'
import { openIdleFerry } from './open-ferry.ts'
import { readConfig } from './read-config.ts'
import { quietConfig } from './verbs/run.ts'

/**
 * Opens what a verb needs that acts on a submission: the database, the service, and a queue that it works nothing off.
 */
export async function withIdleFerry<T>(cli: Cli, options: CommonOptions, work: (deps: Deps) => Promise<T>): Promise<T> {
  const ferry = await openIdleFerry(cli, quietConfig(readConfig(cli, options)))
  try {
    return await work(ferry.deps)
  } finally {
    await ferry.close()
  }
}
