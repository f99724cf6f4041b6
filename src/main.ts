#!/usr/bin/env node
// An old Node reads this file and all that it imports before it runs a line. So nothing is imported until the version
// is known, and what stands here is understood since Node 12.
const [major = 0] = process.versions.node.split('.').map(Number)

if (major >= 24) {
  void import('./cli/keep-compiled.ts')
    .then(({ keepCompiled }) => {
      keepCompiled(process.env)
      return import('./cli/start.ts')
    })
    .then(({ start }) => start({ environment: process.env, workingFolder: process.cwd(), args: process.argv.slice(2) }))
} else {
  const message = `Nightferry needs Node.js 24 or newer, and this is ${process.versions.node}: install a newer one, or put it first in PATH.`
  process.stderr.write(`nightferry: ${message}\n`)
  process.exitCode = 1
}
