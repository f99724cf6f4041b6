import { defineConfig } from 'vitest/config'

/**
 * The tests of what is pure and must not be wrong. They need no server, so each changed program is judged in a moment.
 */
export default defineConfig({
  test: {
    environment: 'node',
    include: [
      'test/pipeline/push/submission-state.test.ts',
      'test/pipeline/push/outcomes/{result-outcome,named-error,unnamed-rows,split}.test.ts',
      'test/exchange/{webhook-signature,classify-failure,submit-outcome,secret-forms}.test.ts',
      'test/config/{secrets,webhook-settings}.test.ts',
      'test/cli/scrubbing.test.ts',
    ],
  },
})
