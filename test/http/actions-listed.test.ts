import { expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { startWorld } from '../helpers/world.ts'
import { readingApi } from './in-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 1 }))
const api = await ofThisFile(Promise.resolve(readingApi(world)))
await world.pool.query(`
  insert into action (verb, acted_by, host, acted_at, rows, asked, result) values
    ('pause', 'Ann (console)', 'desk', '2026-11-20T08:00:00Z', 0, '{"job": "push", "reason": "a move"}', 'paused'),
    ('restore', 'HTTP API', 'desk', '2026-11-21T08:00:00Z', 3, '{"run": "7", "partnerId": "H-1"}', 'brought back')`)

const listed = async (query: string) =>
  (JSON.parse(await api.text(`/v1/actions${query}`)) as { actions: { verb: string }[] }).actions

test('GET /v1/actions says who did what, on what and why, and is narrowed down as the verb is', async () => {
  expect(await listed('')).toEqual([
    expect.objectContaining({ verb: 'restore' }),
    {
      action_id: 1,
      verb: 'pause',
      acted_by: 'Ann (console)',
      host: 'desk',
      acted_at: '2026-11-20T08:00:00.000Z',
      submission_id: null,
      correlation_id: null,
      rows: 0,
      asked: { job: 'push', reason: 'a move' },
      result: 'paused',
    },
  ])
  for (const query of ['verb=pause', 'job=push', 'since=2026-11-20T00:00:00Z&job=push']) {
    expect(
      (await listed(`?${query}`)).map(({ verb }) => verb),
      query,
    ).toEqual(['pause'])
  }
  for (const query of ['run=7', 'partnerId=H-1', 'since=2026-11-20T09:00:00Z', 'verb=restore&run=7']) {
    expect(
      (await listed(`?${query}`)).map(({ verb }) => verb),
      query,
    ).toEqual(['restore'])
  }
  expect(await listed('?submission=7')).toEqual([])
  await expect(listed('?verb=puase')).rejects.toThrow('400')
  await expect(listed('?stream=hotels')).rejects.toThrow('stream_unknown')
})
