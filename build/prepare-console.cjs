// What `npm ci` ends with: builds the console. Any Node.js that runs npm runs this.
const { spawnSync } = require('node:child_process')
const { existsSync } = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')
if (!existsSync(path.join(root, 'node_modules', 'vite'))) {
  console.log('The console is not built: the development dependencies were left out.')
} else {
  const { status } = spawnSync('npm', ['run', '--silent', 'console:build'], {
    cwd: root,
    stdio: 'inherit',
    env: process.env,
  })
  process.exitCode = status ?? 1
}
