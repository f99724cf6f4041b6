import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { startClockWatch } from '../../src/jobs/watch-clock.ts'
import { atWork, config, ended, ending, engineOf, ferry, jobOf, trigger, withEngines } from './working-engine.ts'

withEngines()

const soon = { ...config, engine: { ...config.engine, heartbeatSeconds: 10 } }

it('a look that dies after the clock was put back is noticed, though the queue was looked after ahead of now', async () => {
  const { db } = ferry.ledger
  const job = jobOf(ending)
  const asking = await engineOf(soon)
  await trigger({ ...ferry.deps('http://127.0.0.1:9'), looks: asking.looks }, job)
  await sql`
    update nightferry_queue.job
    set state = 'active', started_on = now(), heartbeat_on = now() - interval '1 hour' where state = 'created'`.execute(
    db,
  )
  await sql`
    update nightferry_queue.queue
    set monitor_claim_on = now() + interval '1 day', monitor_on = now() + interval '1 day',
        maintain_on = now() + interval '1 day'`.execute(db)
  await using deps = await atWork(job, 'http://127.0.0.1:9', soon)
  const watch = startClockWatch(deps)
  try {
    await watch.look()
    expect(await ended()).toMatchObject({ state: 'finished' })
    const ahead = await sql`
      select from nightferry_queue.queue where greatest(monitor_claim_on, monitor_on, maintain_on) > now()`.execute(db)
    expect(ahead.rows).toEqual([])
  } finally {
    await watch.stop()
  }
})
