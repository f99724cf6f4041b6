import { expect, test } from 'vitest'
import { withoutSettings } from '../../src/config/environment.ts'

test('an environment for a process of ours that needs no settings holds none, and no secret', () => {
  const environment = {
    PATH: '/bin',
    EXCHANGE_API_KEY: 'canary',
    EXCHANGE_API_KEY_FILE: '/run/canary',
    DATABASE_URL: 'postgres://u:canary@h/d',
    PARTNER_DATABASE_URL: 'postgres://u:canary@h/d',
    NIGHTFERRY_DATABASE_FOLDER: '/elsewhere',
  }
  expect(withoutSettings(environment)).toEqual({ PATH: '/bin' })
})
