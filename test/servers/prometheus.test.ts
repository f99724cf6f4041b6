import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { createMetrics } from '../../src/http/metrics/metrics.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { openFerry } from '../pipeline/push/ferry.ts'
import { program } from './programs.ts'
import { startPrometheus } from './prometheus-server.ts'

const promtool = () => program('promtool')
const rules = fileURLToPath(new URL('../../config/monitoring/alerts.yaml', import.meta.url))
const stories = readFileSync(new URL('alert-stories.yaml', import.meta.url), 'utf8')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightferry-rules-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

type Series = { series: string; values: string }
type Stories = { rule_files: string[]; tests: { input_series: Series[] }[] }

const nameOf = (series: string) => /^\w+/.exec(series)?.[0] ?? ''
const labelsOf = (series: string) => [...series.matchAll(/(\w+)="[^"]*"/g)].map(([, label = '']) => label)

/** Labels that a stored series has of Prometheus. */
const given = ['__name__', 'job', 'instance']

/** A series of the stories as Prometheus stores it from two daemons: a label of ours gives way to one of its own. */
function asStored({ series, values }: Series): Series[] {
  const ours = [...series.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', value]) =>
    given.includes(label) ? `exported_${label}="${value}"` : `${label}="${value}"`,
  )
  return ['a', 'b'].map((instance) => ({
    series: `${nameOf(series)}{${[...ours, 'job="partners"', `instance="${instance}"`].join(', ')}}`,
    values,
  }))
}

function testRules(with_rules: string): { status: number | null; said: string } {
  const file = join(folder, 'stories.yaml')
  const told = parse(stories) as Stories
  const tests = told.tests.map((test) => ({ ...test, input_series: test.input_series.flatMap(asStored) }))
  writeFileSync(file, stringify({ ...told, rule_files: [with_rules], tests }))
  const { status, stdout, stderr } = spawnSync(promtool(), ['test', 'rules', file], { encoding: 'utf8' })
  return { status, said: stdout + stderr }
}

it('Prometheus has nothing to say about the metrics', async () => {
  const ferry = await openFerry()
  const deps = ferry.deps('http://127.0.0.1:9')
  try {
    await ferry.planned(deps, 'properties', [{ partner_id: 'H-1', content: { code: '1' } }])
    const text = await createMetrics(deps, ferry.ledger.db, '1.0.0').text()
    expect(text).toMatch(/nightferry_rows\{.*\} 1\n/)
    expect(text).toMatch(/^nodejs_active_resources\{/m)
    const checked = spawnSync(promtool(), ['check', 'metrics'], { input: text, encoding: 'utf8' })
    expect({ status: checked.status, said: checked.stdout + checked.stderr }).toEqual({ status: 0, said: '' })
  } finally {
    await deps[Symbol.asyncDispose]()
    await ferry.close()
  }
})

it('Prometheus can read the alert rules', () => {
  expect(execFileSync(promtool(), ['check', 'rules', rules], { encoding: 'utf8' })).toMatch(/SUCCESS: \d+ rules found/)
})

it('every alert is raised when it should be, and not before', () => {
  expect(testRules(rules)).toMatchObject({ status: 0 })
  const { groups } = parse(readFileSync(rules, 'utf8')) as { groups: { rules: { alert: string }[] }[] }
  for (const { alert } of groups.flatMap((group) => group.rules)) expect(stories).toContain(`alertname: ${alert}`)
})

it('the stories notice rules that never raise an alert', () => {
  const broken = join(folder, 'broken.yaml')
  writeFileSync(broken, readFileSync(rules, 'utf8').replace('nightferry_runs_held) > 0', 'nightferry_runs_held) > 7'))
  expect(testRules(broken)).toMatchObject({ status: 1, said: expect.stringContaining('NightferryHeld') })
})

it('a Prometheus with its usual settings raises the alerts of one job, and fills the board and the labels of the stories', async () => {
  const ferry = await openFerry()
  const deps = ferry.deps('http://127.0.0.1:9')
  try {
    await ferry.planned(deps, 'properties', [{ partner_id: 'H-1', content: { code: '1' } }])
    await ferry.ledger.pool.query(`
      insert into run (job, trigger, scheduled_for, state, step, verdict, started_at, finished_at)
      select job, 'schedule', began, case verdict when 'failed' then 'failed' else 'finished' end, 'report', verdict,
             began, began + interval '10 minutes'
      from (values ('nightly-sync', 'succeeded', now() - interval '30 hours'),
                   ('nightly-sync', 'failed', now() - interval '2 hours'),
                   ('housekeeping', 'succeeded', now() - interval '1 hour')) night (job, verdict, began)`)
    await ferry.ledger.pool.query(`
      insert into submission (run_id, kind, state, row_count, planned_at)
      select run_id, 'calculators_search', 'settled', 0, now() - interval '60 hours' from run limit 1`)
    const metrics = createMetrics(deps, ferry.ledger.db, '1.0.0')
    await using prometheus = await startPrometheus(() => metrics.text(), rules)
    const raised = async () =>
      (await prometheus.alerts()).map(({ labels: { alertname, run_job }, state }) => ({ alertname, run_job, state }))
    await expect
      .poll(async () => (await raised()).toSorted(byName), patience)
      .toEqual([
        // They wait for ten minutes before they tell.
        { alertname: 'NightferryNoRun', run_job: 'nightly-sync', state: 'pending' },
        { alertname: 'NightferryPulledDataOld', run_job: undefined, state: 'pending' },
        { alertname: 'NightferryRunFailed', run_job: 'nightly-sync', state: 'firing' },
      ])

    const kept = await prometheus.query('{job="partners", __name__=~"nightferry_.+"}')
    for (const { metric } of some(kept)) expect(Object.keys(metric).join()).not.toContain('exported_')
    const { tests } = parse(stories) as Stories
    for (const { series } of some(tests.flatMap((test) => test.input_series))) {
      const like = some(kept.filter(({ metric }) => metric.__name__ === nameOf(series)))
      const ours = Object.keys(like[0]?.metric ?? {}).filter((label) => !given.includes(label))
      expect(labelsOf(series).toSorted(), series).toEqual(ours.toSorted())
    }
    for (const { expr, legendFormat } of some(queriesOfBoard())) {
      const shown = await prometheus.query(expr)
      for (const { metric } of shown) {
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(metric, expr).toHaveProperty(label)
      }
      if (expr.includes('run_last_')) expect(shown, expr).not.toEqual([])
    }
  } finally {
    await deps[Symbol.asyncDispose]()
    await ferry.close()
  }
})

const byName = (a: { alertname?: string | undefined }, b: { alertname?: string | undefined }) =>
  (a.alertname ?? '').localeCompare(b.alertname ?? '')

type Query = { expr: string; legendFormat: string }

function queriesOfBoard(): Query[] {
  const board = new URL('../../config/monitoring/grafana.json', import.meta.url)
  const { panels } = JSON.parse(readFileSync(board, 'utf8')) as { panels: { targets?: Query[] }[] }
  return panels.flatMap(({ targets = [] }) => targets)
}
