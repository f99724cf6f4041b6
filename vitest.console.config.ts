import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** The console in a real Chromium, which has to be installed: one server and one browser for all stories. */
export default mergeConfig(sharedConfig, { test: { include: ['test/console/**/*.test.ts'], hookTimeout: 240_000 } })
