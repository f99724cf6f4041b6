import { expect, test } from 'vitest'
import { nearestName } from '../../src/config/setting-paths.ts'

test.each([
  ['levle', ['level', 'label'], 'level'],
  ['pollIntervall', ['pollIntervalMs', 'probeIntervalMs'], 'pollIntervalMs'],
  ['max_changed_share', ['maxChangedShare', 'minRows'], 'maxChangedShare'],
  ['keepPayloads', ['keepPayloadsDays', 'keepHistoryDays'], 'keepPayloadsDays'],
  ['url', ['url', 'name'], 'url'],
])('nearestName finds for %s among %j the name %s', (typed, names, meant) => {
  expect(nearestName(typed, names)).toBe(meant)
})

test.each([
  ['colour', ['level', 'folder']],
  ['ur', ['folder']],
  ['', ['url']],
  ['level', []],
])('nearestName finds for %s among %j none', (typed, names) => {
  expect(nearestName(typed, names)).toBeNull()
})
