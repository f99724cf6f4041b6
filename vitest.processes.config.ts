import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** Processes that are started, signalled and killed, and servers that die under them: each waits for real ones. */
export default mergeConfig(sharedConfig, { test: { include: ['test/processes/**/*.test.ts'] } })
