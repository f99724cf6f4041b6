import { createHash } from 'node:crypto'
import { type Fact, factsOfBody, isAbout, valueOfAnswer } from './facts.ts'
import type { ModelWorld } from './world.ts'
import { apiKey } from './world.ts'

/** A task as the service knows it, with what its request said; places are those of lines of the append-only log. */
export type SeenTask = {
  id: string
  path: string
  body: string
  received: number
  /** Infinity while it is unfinished. */
  terminal: number
  facts: readonly Fact[]
  /** What the service took of it; nothing until the task has ended. */
  taken: readonly Fact[]
}

type Known = Omit<SeenTask, 'received' | 'terminal'>

/** Partner ids of the sibling integration begin so. */
export const siblingPrefix = 'S-'

/** Reads what the service accepted from us, lost answers included, and keeps what does not change. */
export function openServiceLog(world: ModelWorld): {
  /** Tasks that the service lost with its database come first. */
  tasks(): Promise<SeenTask[]>
  /** To be called before the service's database is restored, while no task is unfinished. */
  remember(): Promise<void>
} {
  const known = new Map<string, Known>()
  const before = new Map<string, SeenTask>()
  const read = async () => {
    const { rows } = await world.service.query<{
      id: string
      path: string
      received: number
      terminal: number | null
      ended: boolean
    }>(
      `select task.id, task.path, min(log.id) filter (where phase = 'received' and log.method = 'POST') as received,
              min(log.id) filter (where phase = 'terminal') as terminal, finished_at is not null as ended
       from sandbox.task join sandbox.request_log log on log.correlation_id = task.id
       where not exists (select from unnest(task.identifiers) as of (name) where name like $1)
       group by task.id order by task.sequence`,
      [`${siblingPrefix}%`],
    )
    const tasks: SeenTask[] = []
    for (const { id, path, received, terminal, ended } of rows) {
      let task = known.get(id) ?? { ...(await readBody(world, id, path)), id, path, taken: [] }
      if (ended && terminal !== null && !settledBefore.has(task)) {
        task = { ...task, taken: await readTaken(world, task) }
        settledBefore.add(task)
      }
      known.set(id, task)
      tasks.push({ ...task, received, terminal: terminal ?? Number.POSITIVE_INFINITY })
    }
    return tasks
  }
  return {
    remember: async () => {
      for (const task of await read()) {
        // Its order was judged while its lines stood in the log; what it took came before everything from now on.
        before.set(task.id, { ...task, received: Number.POSITIVE_INFINITY, terminal: -1 })
      }
    },
    tasks: async () => {
      const now = await read()
      const held = new Set(now.map(({ id }) => id))
      return [...[...before.values()].filter(({ id }) => !held.has(id)), ...now]
    },
  }
}

/** Tasks whose end was read. */
const settledBefore = new WeakSet<Known>()

async function readBody(world: ModelWorld, id: string, path: string): Promise<Pick<Known, 'body' | 'facts'>> {
  const { rows } = await world.service.query<{ body: Buffer }>('select body from witness.body where task_id = $1', [id])
  const body = rows[0]?.body
  if (body === undefined) throw new Error(`the service took task ${id} without a body`)
  return {
    body: createHash('sha256').update(body).digest('hex'),
    facts: factsOfBody(path, JSON.parse(body.toString()) as Record<string, unknown>),
  }
}

/** The facts that the service's own row-level report says it took. */
async function readTaken(world: ModelWorld, { id, path, facts }: Known): Promise<Fact[]> {
  if (facts.length === 0) return []
  const answer = await fetch(`${world.sandboxUrl}/sandbox/tasks/${id}/report`, { headers: { authorization: apiKey } })
  if (answer.status !== 200) throw new Error(`no report of task ${id}: ${answer.status} ${await answer.text()}`)
  const { rows } = (await answer.json()) as { rows: ({ outcome: string } & Record<string, unknown>)[] }
  const accepted = rows.filter(({ outcome }) => outcome === 'accepted')
  return facts.filter((fact) => accepted.some((row) => isAbout(path, row, fact)))
}

/** What the service holds of our hotels now, by where it stands. */
export async function readState(world: ModelWorld): Promise<Map<string, string>> {
  const { rows } = await world.service.query<{ target: string; value: unknown; answer: boolean }>(
    `with hotel as (select value as hotel, company_id from sandbox.identifier where value not like $1),
          stored as (
            select concat_ws(' | ', 'property', hotel) as target, to_jsonb('mapped'::text) as value, false as answer from hotel
            union all
            select concat_ws(' | ', 'answer', hotel, data_point_id, period_type, year, month), value, true
            from hotel join sandbox.answer using (company_id)
            union all
            select concat_ws(' | ', 'omission', hotel, question_id, period_type, year, month), to_jsonb('declined'::text), false
            from hotel join sandbox.omission using (company_id)
            union all
            select concat_ws(' | ', 'input', hotel, year, coalesce(month::text, ''), input.key), to_jsonb(input.value), false
            from hotel join sandbox.calculator using (company_id), jsonb_each_text(inputs) as input
            union all
            select concat_ws(' | ', 'setting', hotel, 'yearly'), to_jsonb(automatic_yearly_calculation::text), false
            from hotel join sandbox.company_setting using (company_id)
            union all
            select concat_ws(' | ', 'setting', hotel, 'publishing'), to_jsonb(automatic_publishing::text), false
            from hotel join sandbox.company_setting using (company_id)
            union all
            select concat_ws(' | ', 'value', hotel, property_id), to_jsonb(value), false
            from hotel join sandbox.property_value using (company_id)
            union all
            select concat_ws(' | ', 'standard', hotel, standard_id),
                   to_jsonb(concat(level, ' | ', start_date, ' | ', expiry_date)), false
            from hotel join sandbox.standard_holder using (company_id))
     select * from stored`,
    [`${siblingPrefix}%`],
  )
  return new Map(rows.map(({ target, value, answer }) => [target, answer ? valueOfAnswer(value) : String(value)]))
}
