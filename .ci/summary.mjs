// Adds up the result files of the test runs and prints one line; fails when a file is missing or nothing ran.
import { readFileSync } from 'node:fs'

const files = process.argv.slice(2)
const results = files.map((file) => JSON.parse(readFileSync(file, 'utf8')))
const total = (key) => results.reduce((sum, result) => sum + result[key], 0)
const [passed, failed, skipped] = [total('numPassedTests'), total('numFailedTests'), total('numPendingTests')]
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
if (passed === 0 || failed > 0 || results.some((result) => !result.success)) process.exit(1)
