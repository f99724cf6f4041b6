// Names what failed and why, adds up the result files of the test runs and prints one line; fails when a file is missing,
// when nothing ran, when a suite or a second attempt ended badly without a failed test, and when a file failed in both of
// its attempts.
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

const suites = process.argv.slice(2).map((suite) => ({
  name: basename(suite),
  first: attemptOf(suite),
  second: attemptOf(`${suite}.second`),
}))
let failed = false
const counts = { passed: 0, failed: 0, unstable: 0, skipped: 0 }

for (const { name, first, second } of suites) {
  // A suite that was ended because it took too long has written nothing; what the others found is still to be told.
  if (first.result === undefined) fail(`FAILED ${name}: the suite ended without a result, see its step above`)
  else {
    for (const file of first.broken) tell(file, passedLater(file, second.result))
    counts.passed += first.result.numPassedTests
    counts.skipped += first.result.numPendingTests
    if (first.endedBadly) fail(`FAILED ${name}: see its step above`)
    if (second.endedBadly) fail(`FAILED ${name}, once more by itself: see its step above`)
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

/** What an attempt left behind; it ended badly if something went wrong that no failed file explains. */
function attemptOf(place) {
  const result = existsSync(`${place}.json`) ? JSON.parse(readFileSync(`${place}.json`, 'utf8')) : undefined
  const log = existsSync(`${place}.log`) ? readFileSync(`${place}.log`, 'utf8') : ''
  const broken = (result?.testResults ?? []).filter(({ status }) => status === 'failed')
  const unexplained = broken.length === 0 || /Unhandled (Errors|Rejection)/.test(log)
  return { result, broken, endedBadly: existsSync(`${place}.failed`) && unexplained }
}
