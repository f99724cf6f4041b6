import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** Built into console/dist, from where src/http/console serves it below /console/. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  logLevel: 'warn',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // Nothing stands in the page itself: its Content-Security-Policy would refuse it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
