import { configDefaults, defineConfig } from 'vitest/config'

/** Any test that needs no database, run alone: `test/guards/remove-guards.ts` names the file. */
export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts'],
    exclude: configDefaults.exclude,
    // Without its guard a test may wait for ever.
    testTimeout: 10_000,
  },
})
