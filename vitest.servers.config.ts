import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** Tests against other servers than the embedded one, and programs of the system, which have to be installed first. */
export default mergeConfig(sharedConfig, { test: { include: ['test/servers/**/*.test.ts'] } })
