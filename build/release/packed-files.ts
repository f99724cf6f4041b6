/** What the program cannot do without, wherever it is installed. */
const needed = [
  ...['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'package.json'],
  ...['config/contract.yaml', 'config/demo.yaml', 'config/nightferry.yaml', 'config/nightferry.schema.json'],
  ...['dist/main.js', 'dist/program/zod-LICENSE', 'docs/README.md'],
  'console/dist/index.html',
  'packaging/systemd/nightferry.service',
  'packaging/systemd/nightferry@.service',
]

/** The piece that `dist/main.js` loads, whose name also has a hash. */
const firstPiece = /^dist\/program\/start-[0-9a-f]+\.js$/

const allowed = [
  /^(LICENSE|README\.md|CHANGELOG\.md|SECURITY\.md|package\.json)$/,
  /^dist\/[\w/-]+\.js$/,
  /^dist\/program\/[\w-]+-LICENSE$/,
  /^console\/dist\/(index\.html|icon\.svg|assets\/[\w-]+\.(js|css))$/,
  /^config\/(monitoring\/)?[\w.-]+\.(yaml|json|sql)$/,
  /^docs\/[\w/-]+\.(md|png)$/,
  /^packaging\/[\w/@-]+(\.[\w.]+)?$/,
]

/** What is wrong with the list of files of a package, as sentences. */
export function packedFaults(paths: readonly string[]): string[] {
  return [
    ...needed.filter((path) => !paths.includes(path)).map((path) => `${path} is missing`),
    ...(paths.some((path) => firstPiece.test(path)) ? [] : ['dist/program/start-….js is missing']),
    ...paths
      .filter((path) => !allowed.some((pattern) => pattern.test(path)))
      .map((path) => `${path} has no place there`),
  ]
}
