// Prints each suite that has failed test files, with them; nothing when so many failed that it cannot be chance.
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

const mostFiles = 8
const suites = process.argv.slice(2).filter((suite) => existsSync(`${suite}.json`))
const failed = suites
  .map((suite) => ({ name: basename(suite), files: failedFiles(JSON.parse(readFileSync(`${suite}.json`, 'utf8'))) }))
  .filter(({ files }) => files.length > 0)
if (failed.flatMap(({ files }) => files).length <= mostFiles) {
  for (const { name, files } of failed) console.log([name, ...files].join(' '))
}

function failedFiles({ testResults }) {
  return testResults.filter(({ status }) => status === 'failed').map(({ name }) => name)
}
