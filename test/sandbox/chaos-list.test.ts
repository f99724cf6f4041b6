import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { malformedPages } from '../../src/sandbox/chaos/page-cases/page-cases.ts'
import { profiles, webhookProfiles } from '../../src/sandbox/chaos/profiles.ts'
import { some } from '../helpers/some.ts'

const folder = import.meta.dirname
const textsOf = (pattern: RegExp) =>
  readdirSync(folder)
    .filter((file) => pattern.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8'))

/** The names of the profiles that the tests of this folder say they show. */
const shown = textsOf(/^chaos-.*\.test\.ts$/).flatMap((text) =>
  [...text.matchAll(/^ *shows\(\s*'([^']+)'/gm)].map((match) => match[1] ?? ''),
)

describe('the list of profiles', () => {
  it('has for each profile of requests, tasks and result files a test that shows it happening', () => {
    // chaos-pages.test.ts compares the cases of malformed pages with its table by itself.
    const cases = [...malformedPages.cases.values()].map(({ name }) => name)
    const webhooks = webhookProfiles.map(({ name }) => name)
    const wanted = profiles.map(({ name }) => name).filter((name) => !cases.includes(name) && !webhooks.includes(name))
    expect(shown.toSorted()).toEqual(wanted.toSorted())
  })

  it('has each profile of webhooks in a test of webhooks', () => {
    const texts = textsOf(/^webhooks.*\.test\.ts$/).join('\n')
    expect(webhookProfiles.map(({ name }) => name).filter((name) => !texts.includes(`'${name}'`))).toEqual([])
  })

  it('names nothing twice, and everything in small letters', () => {
    const names = profiles.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const name of some(names)) expect(name).toMatch(/^[a-z]+(-[a-z]+)*(:[a-z0-9]+(-[a-z0-9]+)*)?$/)
  })

  it('has a default share above 0 and up to 1 for each', () => {
    for (const { name, share } of some(profiles)) expect([name, share > 0 && share <= 1]).toEqual([name, true])
  })
})
