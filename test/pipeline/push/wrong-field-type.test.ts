import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { catalogue } from '../../../src/sandbox/catalogue.ts'
import { nightferry, workingFolder } from '../../cli/nightferry-process.ts'
import { demoConfig, startWorld } from '../../helpers/world.ts'

const right = catalogue.fieldTypes[0]?.id ?? ''
const wrong = `${right.slice(0, -1)}${right.endsWith('0') ? '1' : '0'}`

type Demo = { streams: Record<string, object> }

test('a field type id that the service does not know is corrected at the partner, and the row is accepted', {
  timeout: 180_000,
}, async () => {
  await using world = await startWorld({ migrated: true, hotels: 1 })
  await using folder = await workingFolder()
  await world.partnerPool.query(`create table reading (field text, value text)`)
  await world.partnerPool.query(`insert into reading values ($1, '5')`, [wrong])
  const demo = parse(readFileSync(demoConfig, 'utf8')) as Demo
  const query = `
    select code as partner_id, 2025 as year, 3 as month, field as field_type_id, value
    from hotelier.hotel, reading`
  const streams = {
    properties: demo.streams.properties,
    calculator_inputs: { query, capture: 'snapshot', requires: ['properties'] },
  }
  const file = join(folder.path, 'wrong.yaml')
  await writeFile(file, stringify({ ...demo, streams }))
  const night = async () => {
    const arguments_ = ['run', 'nightly-sync', '--json', '--config', file]
    const { stdout, stderr } = await nightferry(folder.path, arguments_, world.environment())
    expect(stdout, stderr).not.toBe('')
    const { rows } = await world.pool.query<{ outcome: string; inputs: object }>(
      `select outcome, content -> 'inputs' as inputs from ledger where stream = 'calculator_inputs'`,
    )
    return rows
  }
  expect(await night()).toEqual([{ outcome: 'rejected', inputs: { [wrong]: '5' } }])

  await world.partnerPool.query('update reading set field = $1', [right])
  expect(await night()).toEqual([{ outcome: 'confirmed', inputs: { [right]: '5' } }])

  await world.partnerPool.query('update reading set value = null')
  expect(await night()).toEqual([{ outcome: 'confirmed', inputs: { [right]: null } }])
})
