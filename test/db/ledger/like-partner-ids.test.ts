import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { likePartnerIds } from '../../../src/db/trace/trace-partner.ts'
import { nightferry, workingFolder } from '../../cli/nightferry-process.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(() => ledger.clear())

const composed = 'Hôtel-1'.normalize('NFC')
const decomposed = composed.normalize('NFD')

it.each([
  ['in other letters', 'H-4711', 'h-4711', 'H-4711'],
  ['with a blank behind it', 'H-4711 ', 'h-4711', "'H-4711 '"],
  ['between a tab and the end of a line', '\tH-4711\r\n', 'H-4711', "'\tH-4711\r\n'"],
  ['with its letters decomposed', decomposed, composed.toLowerCase(), decomposed],
  ['with its letters composed', composed, ` ${decomposed} `, composed],
])('an id that the ledger has %s is suggested', async (_how, partner_id, typed, near) => {
  await ledger.landChecked('framework_answers', [{ partner_id, content: {} }], true)
  expect(await likePartnerIds(ledger.db, typed)).toMatchObject({ near: [near] })
})

it('an id that differs in capitals alone is suggested before one with blanks', async () => {
  for (const partner_id of ['H-1', 'H-1 ']) {
    await ledger.landChecked('framework_answers', [{ partner_id, content: {} }], true)
  }
  expect(await likePartnerIds(ledger.db, 'h-1')).toMatchObject({ near: ['H-1'] })
})

it('no id is suggested that is like the typed one in its beginning alone', async () => {
  await ledger.landChecked('framework_answers', [{ partner_id: 'H-4711 B', content: {} }], true)
  expect(await likePartnerIds(ledger.db, 'H-4711')).toMatchObject({ near: [], examples: ['H-4711 B'] })
})

it('trace suggests an id of the partner that has the form of one of the service', async () => {
  const partner_id = 'AB54A98C-EB1F-4AD2-8000-000000000001'
  await ledger.landChecked('framework_answers', [{ partner_id, content: {} }], true)
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  const trace = (id: string) => nightferry(folder.path, ['trace', id], { DATABASE_URL: ledger.url })
  const meant = expect.stringContaining(`Was ${partner_id} meant?`)
  expect(await trace(partner_id.toLowerCase())).toMatchObject({ code: 2, stdout: '', stderr: meant })
  const stranger = await trace('ab54a98c-eb1f-4ad2-8000-000000000002')
  expect(stranger).toMatchObject({ code: 2, stderr: expect.stringContaining('No hotel is mapped to the company ab54') })
})
