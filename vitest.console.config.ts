import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** The console in a real Chromium, which has to be installed: a daemon, a service and a browser for each world. */
export default mergeConfig(sharedConfig, {
  test: {
    include: ['test/console/**/*.test.ts'],
    hookTimeout: 240_000,
    // A story waits for a state as long as a busy machine needs.
    expect: { poll: { timeout: 60_000, interval: 50 } },
  },
})
