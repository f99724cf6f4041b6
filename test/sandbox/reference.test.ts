import { describe, expect, it } from 'vitest'
import { dataPointsOf, questionsOf } from '../../src/sandbox/catalogue/frameworks.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { some } from '../helpers/some.ts'
import type { CustomProperty, Framework, Named, UnitType } from './documents.ts'
import { openSandbox } from './open-sandbox.ts'

const sandbox = await ofThisFile(openSandbox())

describe('API keys', () => {
  it.each([
    ['no key', null],
    ['an unknown key', 'nobody'],
    ['a key behind a scheme', 'Bearer demo-key'],
  ])('answers 401 with an errorCode and a message to %s', async (_what, key) => {
    for (const path of ['/api/v1/unit-types', '/api/v2/bulk/tasks', '/api/v1/groups', '/api/v1/custom-properties']) {
      const answer = await sandbox.call('GET', path, { key })
      expect(answer).toEqual({ status: 401, body: { errorCode: expect.any(String), message: expect.any(String) } })
    }
    const post = await sandbox.call('POST', '/api/v1/bulk/company-mappings', { key, raw: '{' })
    expect(post.status).toBe(401)
  })

  it('answers 404 with an errorCode to a path that it does not have', async () => {
    const answer = await sandbox.call('GET', '/api/v1/nothing')
    expect(answer).toEqual({ status: 404, body: { errorCode: expect.any(String), message: expect.any(String) } })
  })
})

describe('reference data', () => {
  it('gives unit types with their units as an array', async () => {
    const { body } = await sandbox.call<UnitType[]>('GET', '/api/v1/unit-types')
    expect(body.map((unitType) => unitType.name)).toEqual(['Energy', 'Water', 'Mass', 'Area', 'Share'])
    expect(body[0]?.units.map((unit) => unit.abbreviation)).toEqual(['kWh', 'MWh'])
  })

  it("shows a profile its own groups and no other's", async () => {
    const own = await sandbox.call<Named[]>('GET', '/api/v1/groups')
    const other = await sandbox.call<Named[]>('GET', '/api/v1/groups', { key: 'other-key' })
    expect(own.body.map((group) => group.id)).toEqual([catalogue.groupId])
    expect(other.body.map((group) => group.id)).toEqual([catalogue.otherGroupId])
  })

  it('marks each custom property as owned by the invoking profile or not', async () => {
    const { body } = await sandbox.call<CustomProperty[]>('GET', '/api/v1/custom-properties')
    const owned = Object.fromEntries(body.map((property) => [property.id, property.isOwnedByInvokingCompany]))
    expect(owned).toEqual({
      [catalogue.customIdentifierId]: true,
      [catalogue.brandPropertyId]: true,
      [catalogue.roomsPropertyId]: true,
      [catalogue.otherCustomIdentifierId]: false,
    })
    expect(body.filter((property) => property.isIdentifier).map((property) => property.id)).toEqual([
      catalogue.customIdentifierId,
      catalogue.otherCustomIdentifierId,
    ])
  })

  it('gives each framework of its list as a tree with every question and data point', async () => {
    const list = await sandbox.call('GET', '/api/v1/frameworks')
    expect(list.body).toEqual(catalogue.frameworks.map(({ id, title }) => ({ id, title })))
    for (const framework of some(catalogue.frameworks)) {
      const { body } = await sandbox.call<Framework>('GET', `/api/v1/frameworks/${framework.id}`)
      const questions = body.topics
        .flatMap((topic) => topic.subtopics)
        .flatMap((subtopic) => subtopic.clusters)
        .flatMap((cluster) => cluster.questions)
      const points = questions.flatMap((question) => question.dataPoints)
      expect(questions.map((question) => question.id)).toEqual(questionsOf(framework).map(({ id }) => id))
      expect(points.map((point) => point.id)).toEqual(dataPointsOf(framework).map(({ id }) => id))
      for (const point of some(points)) expect('options' in point).toBe(point.valueType === 'list')
    }
  })

  it('answers 404 to an unknown framework', async () => {
    const { status, body } = await sandbox.call('GET', `/api/v1/frameworks/${catalogue.groupId}`)
    expect([status, body.errorCode]).toEqual([404, 'framework_not_found'])
  })
})
