// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this spelling is what the file is about.
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load-config.ts'
import { temporaryFile } from './temporary-file.ts'

const text = `
streams:
  properties: { query: "select '\${CITY}' as city", cursor: updated_at, requires: "\${REQ:-[]}" }
  calculator_inputs: { query: select 1, cursor: "\${CURSOR}", requires: "\${OTHERS}" }
push:
  retries:
    - { code: x, afterMs: "\${RETRY_MS:-3600000}", times: "\${TIMES:-}" }
    - { code: "\${CODE}", afterMs: 0, times: "\${TWICE}" }
  repair: { answers: "\${REPAIR}" }
pull:
  searches:
    - name: all
      search: companiesSearch
      minSeenShare: "\${SHARE}"
      schedule: "\${SCHEDULE:-}"
      ids: { companies: "\${IDS}" }
      body: { pageSize: "\${SHARE}" }
`

test('a reference in a stream, an entry of a list or a mapping of names is read as what the setting there is', () => {
  const environment = {
    CITY: '12',
    CURSOR: '7',
    OTHERS: 'properties, framework_answers',
    CODE: '404',
    TWICE: '2',
    REPAIR: 'send',
    SHARE: '0.1',
    IDS: 'companyId,year',
  }
  const { streams, push, pull } = loadConfig({ file: temporaryFile(text), environment })
  expect(streams).toMatchObject({
    properties: { query: "select '12' as city", requires: [] },
    calculator_inputs: { cursor: '7', requires: ['properties', 'framework_answers'] },
  })
  expect(push.retries).toEqual([
    { code: 'x', afterMs: 3_600_000, times: null },
    { code: '404', afterMs: 0, times: 2 },
  ])
  expect(push.repair).toMatchObject({ answers: 'send' })
  const [search] = pull.searches
  expect(search).toMatchObject({ minSeenShare: 0.1, schedule: null, ids: { companies: ['companyId', 'year'] } })
  // Of a body the settings say nothing, so it holds the text.
  expect(search?.body).toEqual({ pageSize: '0.1' })
})
