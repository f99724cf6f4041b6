import { once } from 'node:events'
import { expect, test } from 'vitest'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'

type Said = {
  url: string
  filesUrl: string
  descriptionUrl: string
  administrationUrl: string
  apiKeys: { key: string; profileId: number }[]
  chaos: Record<string, number>
}

/** What the process says on standard output until it has said a whole object. */
async function saidBy({ child }: ReturnType<typeof start>): Promise<Said> {
  let text = ''
  while (!text.endsWith('\n}\n')) {
    const [more] = (await once(child.stdout ?? child, 'data')) as [string]
    text += more
  }
  return JSON.parse(text) as Said
}

const get = (url: string) => fetch(url, { headers: { authorization: 'demo-key' } })

test('the sandbox says where everything is, with trouble and time as they were asked for, and refuses a second one', async () => {
  await using folder = await workingFolder()
  const options = ['--port', '0', '--companies', '3', '--chaos', 'pages-expired=0.5', '--time-warp', '60', '--json']
  const running = start(folder.path, ['sandbox', ...options, '--duration', 'companyMappings=1s+2ms'])
  try {
    const { url, filesUrl, descriptionUrl, administrationUrl, apiKeys, chaos } = await saidBy(running)
    expect(new URL(filesUrl).origin).not.toBe(new URL(url).origin)
    expect((await get(descriptionUrl)).status).toBe(200)
    expect(await (await get(`${administrationUrl}/clock`)).json()).toMatchObject({ timeWarp: 60 })
    expect(apiKeys).toContainEqual({ key: 'demo-key', profileId: 4711 })
    expect(chaos).toEqual({ 'pages-expired': 0.5 })

    const second = await nightferry(folder.path, ['sandbox', ...options])
    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toContain('sandbox_already_running')
  } finally {
    running.child.kill('SIGTERM')
  }
  expect(await running.ended).toMatchObject({ code: 143 })

  const third = await nightferry(folder.path, ['sandbox', ...options, '--seed', '9'])
  expect(third).toMatchObject({ code: 1, stdout: '' })
  expect(third.stderr).toMatch(/sandbox_seed_mismatch: .* choose another database \(--database\)/)
}, 120_000)

test.each([
  [['--chaos', 'lost-anser'], 'lost-answer'],
  [['--chaos', 'latency=2'], 'from 0 to 1'],
  [['--duration', 'calculatorSearch=1s'], 'calculatorsSearch'],
  [['--duration', 'calculatorsSearch=1'], 'calculatorsSearch=500ms+20us'],
  [['--time-warp', '0.5'], 'from 1'],
  [['--jitter', '2'], 'from 0 to 1'],
  [['--public-url', 'example.com'], 'http://'],
  [['--database', 'a b;c'], 'letters'],
])('the sandbox refuses %j as a fault of the command line, and says what would do', async (options, hint) => {
  await using folder = await workingFolder()
  const ended = await nightferry(folder.path, ['sandbox', ...options])
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toContain(hint)
})
