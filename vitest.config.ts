import { configDefaults, defineConfig, mergeConfig } from 'vitest/config'

/** What every suite shares: one Postgres cluster per run, a database per test file. */
export const sharedConfig = defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 120_000,
    globalSetup: ['test/helpers/global-setup.ts'],
    setupFiles: ['test/helpers/finish-file.ts'],
  },
})

export default mergeConfig(sharedConfig, {
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'test/crash/**', 'test/model/**', 'test/partners/**', 'test/broken-rules/**'],
  },
})
