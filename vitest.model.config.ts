import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** Random stories against the invariants: longer than the rest, so they have a command of their own. */
export default mergeConfig(sharedConfig, { test: { include: ['test/model/**/*.test.ts'], testTimeout: 1_300_000 } })
