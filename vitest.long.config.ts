import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** What is long by nature: whole nights in a row, hostile pages by the hundred, statements at every size. */
export default mergeConfig(sharedConfig, {
  test: {
    include: ['test/long/**/*.test.ts'],
    // Enough for a machine that has two fifths of a processor for this suite.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
