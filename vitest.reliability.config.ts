import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** Whole nights with a fault at every place where one can be; RELIABILITY_SIZE=M or L plays more of them. */
export default mergeConfig(sharedConfig, {
  test: { include: ['test/reliability/**/*.test.ts'], testTimeout: 900_000, hookTimeout: 300_000 },
})
