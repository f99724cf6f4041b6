import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** What is long by nature: whole nights in a row, hostile pages by the hundred, statements at every size. */
export default mergeConfig(sharedConfig, {
  test: {
    include: ['test/long/**/*.test.ts'],
    // Nobody waits so long for a test that passes: a machine that has a fifth of a processor for it may need it.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
