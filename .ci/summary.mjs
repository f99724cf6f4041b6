// Names what failed and why, adds up the result files of the test runs and prints one line; fails when a file is missing,
// when nothing ran, when a suite ended badly without a failed test, and when a file failed in both of its attempts.
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

const suites = process.argv.slice(2).map((suite) => ({
  name: basename(suite),
  result: resultOf(`${suite}.json`),
  second: resultOf(`${suite}.second.json`),
  endedBadly: existsSync(`${suite}.failed`),
  log: existsSync(`${suite}.log`) ? readFileSync(`${suite}.log`, 'utf8') : '',
}))
let failed = false
const counts = { passed: 0, failed: 0, unstable: 0, skipped: 0 }

for (const { name, result, second, endedBadly, log } of suites) {
  // A suite that was ended because it took too long has written nothing; what the others found is still to be told.
  if (result === undefined) fail(`FAILED ${name}: the suite ended without a result, see its step above`)
  else {
    const broken = result.testResults.filter(({ status }) => status === 'failed')
    for (const file of broken) tell(file, passedLater(file, second))
    counts.passed += result.numPassedTests
    counts.skipped += result.numPendingTests
    const unhandled = /Unhandled (Errors|Rejection)/.test(log)
    if (endedBadly && (broken.length === 0 || unhandled)) fail(`FAILED ${name}: see its step above`)
  }
}
const { passed, unstable, skipped } = counts
const onlyAlone = unstable > 0 ? `; ${unstable} of those that passed did so only by themselves` : ''
console.log(`${passed + unstable} passed, ${counts.failed} failed, ${skipped} skipped${onlyAlone}`)
if (failed || passed === 0) process.exit(1)

function tell({ name, message, assertionResults }, unstable) {
  const tests = assertionResults.filter((test) => test.status === 'failed')
  const word = unstable ? 'UNSTABLE, passed by itself:' : 'FAILED'
  for (const { fullName, failureMessages } of tests)
    console.log(`${word} ${name}: ${fullName}\n${failureMessages.join('\n')}`)
  if (tests.length === 0) console.log(`${word} ${name}\n${message}`)
  counts[unstable ? 'unstable' : 'failed'] += tests.length
  if (!unstable) failed = true
}

/** Whether every test of the file passed when the file was run by itself. */
function passedLater({ name, assertionResults }, second) {
  const later = second?.testResults.find((file) => file.name === name)
  return later?.status === 'passed' && later.assertionResults.length >= assertionResults.length
}

function fail(text) {
  console.log(text)
  failed = true
}

function resultOf(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}
