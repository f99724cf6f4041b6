import { beforeAll, expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const oldCompany = '00000000-0000-4000-8000-000000000001'
const world = await ofThisFile(startWorld({ migrated: true, hotels: 1 }))
const folder = await ofThisFile(workingFolder())

const call = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())

beforeAll(async () => {
  expect(await call('run', 'nightly-sync')).toMatchObject({ code: 0 })
  await world.pool.query(`update source_row set gone_at = now() where stream = 'calculator_settings'`)
  await world.pool.query(
    `insert into left_behind (company_id, row_id, content, accepted_at)
     select $1, row_id, content, now() from source_row where stream = 'framework_answers' limit 1`,
    [oldCompany],
  )
})

test('drift says of each row why it is out of place, and which company holds it', async () => {
  const { rows } = await world.pool.query<{ company_id: string }>('select company_id from mapping')
  const { stdout } = await call('drift')
  const [head, , ...listed] = stdout.trimEnd().split('\n')
  expect(head).toMatch(/^hotel +stream +row +why +company +last accepted \(UTC\) +gone since \(UTC\)$/)
  const [left = '', ...gone] = listed
  expect(left).toMatch(new RegExp(`^H-0001 +framework_answers .* remapped +${oldCompany} `))
  expect(gone.length).toBeGreaterThan(0)
  for (const line of gone) {
    expect(line).toMatch(new RegExp(`^H-0001 +calculator_settings .* gone +${rows[0]?.company_id} `))
  }
})
