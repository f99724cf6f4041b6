import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** Tests against a database server that has to be installed first, so they have a command of their own. */
export default mergeConfig(sharedConfig, {
  test: { include: ['test/partners/**/*.test.ts'], globalSetup: ['test/partners/global-setup.ts'] },
})
