import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { openStages } from '../../src/cli/open-ferry.ts'
import { canaries, secretsIn } from '../helpers/canaries.ts'
import { startWorld } from '../helpers/world.ts'

test.each(['person', 'follower', 'daemon'] as const)(
  'the log that a process opens for a %s hides the secrets of its configuration, whatever it is told to write',
  async (by) => {
    await using world = await startWorld({ hotels: 1 })
    const stderr = new PassThrough()
    const cli = {
      environment: {},
      workingFolder: '/',
      stdout: new PassThrough(),
      stderr,
      signal: new AbortController().signal,
      now: () => new Date(),
    }
    const opened = await openStages(cli, world.config(['log.level=trace']), by, 'migrate')
    try {
      for (const [name, secret] of Object.entries(canaries)) {
        opened.logger.warn({ name, seen: [secret, Buffer.from(secret).toString('base64')] }, `held ${secret}`)
      }
    } finally {
      await opened.close()
    }
    const written = String(stderr.read())
    expect(written).toContain('held ********')
    expect(secretsIn(written)).toEqual([])
  },
)
