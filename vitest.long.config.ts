import { mergeConfig } from 'vitest/config'
import { sharedConfig } from './vitest.config.ts'

/** What is long by nature: whole nights in a row, hostile pages by the hundred, statements at every size. */
export default mergeConfig(sharedConfig, { test: { include: ['test/long/**/*.test.ts'] } })
