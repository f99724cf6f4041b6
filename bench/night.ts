/**
 * How long a whole night takes, where its time goes, and how that compares with bare copies of the same rows: node
 * bench/night.ts [--hotels 1000,10000,50000] [--rounds 5] [--capture cursor|snapshot] [--json] [--quick]
 *   [--profile FOLDER]
 *
 * The demo's world, with a sandbox that answers at once. Brings a PostgreSQL for each of Nightferry, the partner and
 * the service, and removes them. `--profile` keeps a processor profile of each night there, for a browser's tools.
 * `--quick` shows that the benchmark works, not how fast anything is.
 */
import { availableParallelism, loadavg, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { bareCopies, type Copied } from './night-copies.ts'
import { printNights, type Round } from './night-report.ts'
import { type NightName, type NightSpent, nightNames, runNight } from './night-run.ts'
import { type Capture, changeOnePercent, type NightWorld, openNightWorld } from './night-world.ts'
import { Opened } from './opened.ts'

const { values } = parseArgs({
  options: {
    hotels: { type: 'string', default: '1000,10000,50000' },
    rounds: { type: 'string', default: '5' },
    capture: { type: 'string', default: 'cursor' },
    json: { type: 'boolean', default: false },
    profile: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
})
const sizes = values.quick ? [100] : values.hotels.split(',').map(Number)
const rounds = values.quick ? 1 : Number(values.rounds)
if (values.capture !== 'cursor' && values.capture !== 'snapshot') throw new Error('--capture is cursor or snapshot')
const capture: Capture = values.capture

const measured: Round[] = []
for (const hotels of sizes) {
  for (let round = 1; round <= rounds; round++) {
    note(`${hotels} hotels, round ${round} of ${rounds}: making the world …`)
    await using opened = new Opened()
    measured.push(await measure(await openNightWorld(opened, hotels, capture)))
  }
}
const machine = {
  cores: availableParallelism(),
  memory: totalmem(),
  load: loadavg()[0] ?? 0,
  node: process.version,
  capture,
}
if (values.json) process.stdout.write(`${JSON.stringify({ machine, rounds: measured }, null, 2)}\n`)
else printNights(machine, measured)

async function measure(world: NightWorld): Promise<Round> {
  const nights: NightSpent[] = []
  let copies: Copied[] = []
  for (const name of nightNames) {
    if (name === '1 %') await changeOnePercent(world.partner)
    nights.push(await night(world, name))
    if (name === 'first')
      copies = await bareCopies(world.own, world.partnerUrl, Object.values(world.streams), world.folder)
  }
  return { hotels: world.hotels, nights, copies }
}

async function night(world: NightWorld, name: NightName): Promise<NightSpent> {
  const spent = await runNight(world, name, values.profile)
  note(`${world.hotels} hotels, ${name} night: ${spent.seconds.toFixed(1)} s`)
  return spent
}

function note(line: string): void {
  process.stderr.write(`${line}\n`)
}
