import { describe, expect, it } from 'vitest'
import { settings } from '../../../src/config/schema.ts'
import { judgeProfileUse } from '../../../src/doctor/judge-service.ts'
import { whyNoIdentifier } from '../../../src/pipeline/reference/usable-identifier.ts'
import { ids } from '../push/rows.ts'

const stream = { query: 'select 1', cursor: 'updated_at' }
const answering = settings.parse({
  exchange: { customIdentifierId: ids.identifier },
  streams: { framework_answers: stream },
})
const counting = settings.parse({ exchange: { customIdentifierId: ids.identifier }, streams: { properties: stream } })
const number = {
  id: ids.identifier,
  name: 'Hotel number',
  type: 'Number',
  isIdentifier: true,
  isOwnedByInvokingCompany: true,
  ownerName: null,
}

describe('an identifier', () => {
  it('an identifier is a String where answers are sent, and of any type where none are', () => {
    expect(whyNoIdentifier(number, answering.streams)).toBe(
      'is of the type Number, and not String as framework answers need it',
    )
    expect(whyNoIdentifier(number, counting.streams)).toBeNull()
    expect(whyNoIdentifier({ ...number, type: 'String' }, answering.streams)).toBeNull()
    expect(whyNoIdentifier({ ...number, isIdentifier: false }, counting.streams)).toMatch(/no identifier$/)
    expect(whyNoIdentifier({ ...number, isOwnedByInvokingCompany: false }, counting.streams)).toMatch(/^belongs to/)
  })

  it('an identifier is judged by the doctor as by a run', () => {
    const judged = (config: typeof answering) =>
      judgeProfileUse(config, [], [number]).filter(({ what }) => what.includes('Hotel number'))
    expect(judged(answering)).toMatchObject([{ level: 'error' }])
    expect(judged(counting)).toMatchObject([{ level: 'ok' }])
  })
})
