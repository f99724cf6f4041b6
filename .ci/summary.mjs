// Names what failed and why, adds up the result files of the test runs and prints one line; fails when a file is missing or nothing ran.
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

const files = process.argv.slice(2).map((file) => `${file}.json`)
const missing = files.filter((file) => !existsSync(file))
// A suite that was ended because it took too long has written nothing; what the others found is still to be told.
for (const file of missing)
  console.log(`FAILED ${basename(file, '.json')}: the suite ended without a result, see its step above`)
const results = files.filter((file) => !missing.includes(file)).map((file) => JSON.parse(readFileSync(file, 'utf8')))
const total = (key) => results.reduce((sum, result) => sum + result[key], 0)
const [passed, failed, skipped] = [total('numPassedTests'), total('numFailedTests'), total('numPendingTests')]
for (const { testResults } of results) {
  for (const { name, status, message, assertionResults } of testResults) {
    const broken = assertionResults.filter((result) => result.status === 'failed')
    for (const { fullName, failureMessages } of broken)
      console.log(`FAILED ${name}: ${fullName}\n${failureMessages.join('\n')}`)
    if (status === 'failed' && broken.length === 0) console.log(`FAILED ${name}\n${message}`)
  }
}
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
if (passed === 0 || failed > 0 || missing.length > 0 || results.some((result) => !result.success)) process.exit(1)
