// For the scripts of package.json. An old Node refuses to load a .ts file, and says so with a stack.
const [major] = process.versions.node.split('.').map(Number)

if (major >= 24) {
  void import('./main.ts')
} else {
  const message = `Nightferry needs Node.js 24 or newer, and this is ${process.versions.node}: install a newer one, or run npm ci with the development dependencies, which bring one.`
  process.stderr.write(`nightferry: ${message}\n`)
  process.exitCode = 1
}
