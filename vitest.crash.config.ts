import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** Tests that kill real processes and start them again: longer than the rest, so they have a command of their own. */
export default mergeConfig(sharedConfig, { test: { include: ['test/crash/**/*.test.ts'], testTimeout: 400_000 } })
