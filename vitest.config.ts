import { configDefaults, defineConfig, mergeConfig } from 'vitest/config'

/** What every suite shares: one Postgres cluster per run, a database per test file. */
export const sharedConfig = defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    // Most tests wait as much as they work: three of them keep two cores busy.
    maxWorkers: 3,
    testTimeout: 180_000,
    hookTimeout: 120_000,
    globalSetup: ['test/helpers/global-setup.ts'],
    setupFiles: ['test/helpers/finish-file.ts'],
  },
})

export default mergeConfig(sharedConfig, {
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [
      ...configDefaults.exclude,
      'test/long/**',
      'test/crash/**',
      'test/model/**',
      'test/partners/**',
      'test/broken-rules/**',
    ],
  },
})
