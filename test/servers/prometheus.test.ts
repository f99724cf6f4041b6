import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../src/http/metrics/metrics.ts'
import { openFerry } from '../pipeline/push/ferry.ts'
import { program } from './programs.ts'

const promtool = () => program('promtool')
const rules = fileURLToPath(new URL('../../config/monitoring/alerts.yaml', import.meta.url))
const stories = readFileSync(new URL('alert-stories.yaml', import.meta.url), 'utf8')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightferry-rules-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function testRules(with_rules: string): { status: number | null; said: string } {
  const file = join(folder, 'stories.yaml')
  writeFileSync(file, stories.replace('[RULES]', JSON.stringify([with_rules])))
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
