import { expect, test, vi } from 'vitest'
import { start, workingFolder } from '../cli/nightferry-process.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

const patience = { timeout: 60_000, interval: 20 }

/** Has Node.js warn of something at each SIGUSR2: what libraries do, at a time of the test's choice. */
const warner = `data:text/javascript,${encodeURIComponent(
  `process.on('SIGUSR2', () => process.emitWarning('it will go', 'DeprecationWarning', 'DEP9999'))`,
)}`

const world = await ofThisFile(startWorld({ hotels: 1 }))
const folder = await ofThisFile(workingFolder())

/** Starts `serve`, has Node.js warn, and ends it once it has logged something after that. */
async function warned(options: string): Promise<string[]> {
  const settings = { ...world.environment(), NIGHTFERRY_LOG_LEVEL: 'info', NODE_OPTIONS: options }
  const serving = start(folder.path, ['serve', '--config', demoConfig], settings)
  await vi.waitFor(() => expect(serving.stderr()).toContain('service_started'), patience)
  serving.child.kill('SIGUSR2')
  await vi
    .waitFor(() => expect(serving.stderr()).toContain('it will go'), patience)
    .finally(() => {
      serving.child.kill('SIGTERM')
    })
  return (await serving.ended).stderr.trim().split('\n')
}

test('what Node.js warns of while serve is up is a line of its log like any other', async () => {
  const lines = await warned(`--import=${warner}`)
  const warnings = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ warning }) => warning)
  expect(warnings).toMatchObject([
    { level: 40, msg: 'process_warning', warning: 'DeprecationWarning', code: 'DEP9999', error: 'it will go' },
  ])
}, 120_000)
