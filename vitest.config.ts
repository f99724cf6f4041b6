import { configDefaults, defineConfig, mergeConfig } from 'vitest/config'

/** What every suite shares: one Postgres cluster per run, a database per test file. */
export const sharedConfig = defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    // Most tests wait more than they work: four of them keep two cores busy.
    maxWorkers: 4,
    // Loading the program anew for each file took as long as testing it. A file leaves nothing behind in its process.
    isolate: false,
    testTimeout: 180_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
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
      'test/processes/**',
      'test/reliability/**',
      'test/model/**',
      'test/partners/**',
      'test/servers/**',
      'test/console/**',
      'test/broken-rules/**',
    ],
  },
})
