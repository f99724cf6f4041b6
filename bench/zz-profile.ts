import { writeFileSync } from 'node:fs'
import { openNightWorld, changeOnePercent } from './zz-world.ts'
import { runNight } from './zz-run.ts'
import { bareCopies } from './night-copies.ts'
const hotels = Number(process.argv[2])
const capture = (process.argv[4] ?? 'cursor') as 'cursor'
const nights = (process.argv[3] ?? 'first').split(',') as 'first'[]
await using world = await openNightWorld(hotels, capture)
for (const name of nights) {
  if ((name as string) === '1 %') await changeOnePercent(world.partner)
  const n = await runNight(world, name, process.env.PROF)
  console.log(`== ${name} wall ${n.seconds.toFixed(1)} own ${n.own.toFixed(1)} used`, JSON.stringify(n.used), 'peaks', JSON.stringify(n.peaks), JSON.stringify(n.ledger))
  for (const s of n.steps) console.log(s.name.padEnd(16), s.seconds.toFixed(2), Object.entries(s.used).map(([k, v]) => `${k} ${(v as number).toFixed(2)}`).join(' '), s.rows)
  console.log('critical', n.path.critical, 'makespan', n.path.makespan)
  const total = await world.own.query("select sum(total_exec_time)/1000 t, sum(calls) c, sum(total_plan_time)/1000 p from public.pg_stat_statements where dbid=(select oid from pg_database where datname='nightferry')")
  console.log('statements total', JSON.stringify(total.rows))
  for (const s of n.statements) console.log(s.seconds.toFixed(2).padStart(8), String(s.calls).padStart(7), String(s.rows).padStart(8), s.text.slice(0, 230))
  if ((name as string) === 'first' && process.env.COPIES) {
    const copies = await bareCopies(world.own, world.partnerUrl, Object.values(world.streams), world.folder)
    for (const c of copies) console.log(c.what, c.seconds.toFixed(2), c.rows)
    const sum = copies.reduce((a, c) => a + c.seconds, 0)
    console.log('copies', sum.toFixed(2), 'ratio', (n.own / sum).toFixed(2))
  }
  if (process.env.SHELL_AT) { writeFileSync('/tmp/own-url', world.ownUrl); await new Promise(r => setTimeout(r, Number(process.env.SHELL_AT))) }
}
