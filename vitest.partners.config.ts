import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** Tests against a database server that has to be installed first, so they have a command of their own. */
export default mergeConfig(sharedConfig, {
  test: {
    // One file at a time: a server shows its transactions anew only while nobody else asks for them more than ten times a second.
    fileParallelism: false,
    include: ['test/partners/**/*.test.ts'],
    globalSetup: ['test/partners/global-setup.ts'],
  },
})
