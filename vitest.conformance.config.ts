import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** A service that breaks one rule at a time: a run of the suite for each, so they have a command of their own. */
export default mergeConfig(sharedConfig, { test: { include: ['test/broken-rules/**/*.test.ts'] } })
