import { sql } from 'kysely'
import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { queueName } from '../../../src/db/service-key/keys-at-work.ts'
import { apiKeyIdOf, storeApiKeyId } from '../../../src/db/service-key/service-key.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import {
  checkDestination,
  configuredDestination,
  destinationChange,
} from '../../../src/pipeline/destination/check-destination.ts'
import { allDestinations, destinationInUse } from '../../../src/pipeline/destination/find-destination.ts'
import { refuseOthersDatabase } from '../../../src/pipeline/destination/refuse-others-database.ts'
import { otherDestination, sameDestination } from '../../../src/pipeline/destination/switch-destination.ts'
import { keyFingerprint } from '../../../src/pipeline/gate/shared-gate.ts'
import { withShadow } from '../../../src/pipeline/plan/with-shadow.ts'
import { landingOn } from '../../db/ledger/ledger.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { patience } from '../../helpers/patience.ts'
import { some } from '../../helpers/some.ts'
import { openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { json, type ScriptedService, service } from '../push/service.ts'

/** What a key shows of its profile. */
type Shown = { groups?: string[]; owned?: string[]; tasks?: string[] }

const paths = { groups: '/api/v1/groups', properties: '/api/v1/custom-properties', tasks: '/api/v2/bulk/tasks' }

const showing = ({ groups = [], owned = [], tasks = [] }: Shown): Promise<ScriptedService> =>
  service({
    [paths.groups]: [json(groups.map((id) => ({ id, name: 'a group' })))],
    [paths.properties]: [
      json(owned.map((id) => ({ id, name: 'a property', type: 'String', isOwnedByInvokingCompany: true }))),
    ],
    [paths.tasks]: [json(tasks.map((correlationId) => ({ correlationId, status: 'Success', kind: 'x' })))],
  })

const actor = { user: 'anna', host: 'here' }
const said = { actor, at: new Date('2026-11-21T07:00:00Z') }
const task = '7f0c2f6e-3b7e-4a57-9d0b-1f2f3c4d5e6f'

const ferry = await ofThisFile(openFerry())
beforeEach(async () => {
  await ferry.clear()
  const { pool } = ferry.ledger
  await pool.query('delete from destination_key')
  await pool.query(
    `update destination set name = 'first', origin = null, path = null, custom_identifier_id = null
     where schema_name is null`,
  )
})

/** The same process with another configuration. */
const configured = (deps: Deps, over: Partial<Deps['required']>): Deps => ({
  ...deps,
  required: { ...deps.required, ...over },
})

/** A ledger that was sent to the service at `url`: one row was accepted, and its reference data are kept. */
async function usedWith(deps: Deps): Promise<void> {
  await checkDestination(deps)
  await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'one' } }])
  await ferry.ledger.pool.query(`update acceptance set accepted_hash = wanted_hash, outcome = 'confirmed'`)
  const property = JSON.stringify({ isOwnedByInvokingCompany: true })
  await ferry.ledger.pool.query(
    `insert into reference_data (kind, id, document, fetched_at, changed_at) values ('group', $1, '{}', now(), now()), ('custom_property', $2, $3, now(), now())`,
    [ids.group, ids.property, property],
  )
}

/** The destination under an address that is not in use. */
const waitingAt = async (db: Database, at: string) =>
  (await allDestinations(db)).find(({ origin, schema_name }) => origin === at && schema_name !== null)

/** A process with the key of `deps` at work, as far as others can see. */
async function atWork({ required }: Deps): Promise<AsyncDisposable> {
  const client = new pg.Client({
    connectionString: ferry.ledger.url,
    application_name: queueName(keyFingerprint(required.apiKey, required.baseUrl)),
  })
  await client.connect()
  return { [Symbol.asyncDispose]: () => client.end() }
}

const othersHaveLeft = () =>
  expect
    .poll(async () => {
      const { rows } = await ferry.ledger.pool.query(
        `select from pg_stat_activity where datname = current_database() and application_name like 'nightferry queue _%'`,
      )
      return rows.length
    }, patience)
    .toBe(0)

/** The keys that are noted of the destination in use, and how sure that is. */
const notedKeys = async () =>
  await ferry.ledger.db
    .selectFrom('destination_key')
    .select(['fingerprint', 'profile_certainty'])
    .orderBy('profile_certainty')
    .execute()

const accepted = async () =>
  (await ferry.ledger.db.selectFrom('ledger').select('row_key').where('accepted_hash', 'is not', null).execute()).map(
    ({ row_key }) => row_key,
  )

describe('the destination that is configured', () => {
  it('the destination of a new ledger is the one that is configured, and the service is not asked', async () => {
    await using server = await showing({})
    await using deps = ferry.deps(server.url)
    await checkDestination(deps)
    const { name, origin, custom_identifier_id } = await destinationInUse(deps.db)
    expect([name, origin, custom_identifier_id]).toEqual([new URL(server.url).host, server.url, ids.identifier])
    await usedWith(deps)
    await checkDestination(deps)
    expect(server.seen).toEqual([])
  })

  it('a new ledger at which a daemon of another profile is at work is not taken over, and no second daemon begins there', async () => {
    await using server = await showing({})
    await using deps = ferry.deps(server.url)
    await refuseOthersDatabase(deps)
    const other = configured(deps, { apiKey: 'another key', customIdentifierId: ids.brand })
    {
      await using _ = await atWork(deps)
      await expect(checkDestination(other)).rejects.toMatchObject({ code: 'destination_changed' })
      await expect(refuseOthersDatabase(other)).rejects.toMatchObject({
        code: 'database_of_another_profile',
        message: expect.stringMatching(
          new RegExp(
            `^Another process works with this database, for .*customIdentifierId was ${ids.identifier} and is ${ids.brand}.*destination same.*stays accepted.*Several profiles.*destination other`,
          ),
        ),
      })
      expect((await destinationInUse(deps.db)).custom_identifier_id).toBe(ids.identifier)
      // Another key of the same profile is at home here.
      await refuseOthersDatabase(configured(deps, { apiKey: 'a new key' }))
      await refuseOthersDatabase(deps)
    }
    await othersHaveLeft()
    await checkDestination(other)
    expect((await destinationInUse(deps.db)).custom_identifier_id).toBe(ids.brand)
  })

  it.each([
    ['two that only read', null],
    ['two that send with one identifier', ids.identifier],
  ])(
    'a second key at a new ledger where a process is at work is not noted before anything tells whose it is: %s',
    async (_, customIdentifierId) => {
      await using unsure = await showing({})
      await using given = ferry.deps(unsure.url)
      const deps = configured(given, { customIdentifierId })
      await refuseOthersDatabase(deps)
      const first = [{ fingerprint: configuredDestination(deps).fingerprint, profile_certainty: 'certain' }]
      const second = configured(deps, { apiKey: 'another key' })
      await using _first = await atWork(deps)
      // Its daemon starts, and its looks are left to the first.
      await refuseOthersDatabase(second)
      await expect(checkDestination(second)).rejects.toThrow(/cannot be told: nothing that it shows/)
      expect(await notedKeys()).toEqual(first)

      // The first run fetched reference data, and they tell.
      await ferry.ledger.pool.query(
        `insert into reference_data (kind, id, document, fetched_at, changed_at) values ('group', $1, '{}', now(), now())`,
        [ids.group],
      )
      await using others = await showing({ groups: [ids.company] })
      await using othersClient = ferry.deps(others.url)
      const foreign = { ...second, exchange: othersClient.exchange }
      await expect(refuseOthersDatabase(foreign)).rejects.toMatchObject({ code: 'database_of_another_profile' })
      await expect(checkDestination(foreign)).rejects.toThrow(/another profile \(likely/)
      expect(await notedKeys()).toEqual(first)

      await using own = await showing({ groups: [ids.group] })
      await using ownClient = ferry.deps(own.url)
      await checkDestination({ ...second, exchange: ownClient.exchange })
      expect(await notedKeys()).toEqual([
        ...first,
        { fingerprint: configuredDestination(second).fingerprint, profile_certainty: 'likely' },
      ])
    },
  )

  it('a second key at a new ledger is noted once the process with the first has ended and sent nothing', async () => {
    await using server = await showing({})
    await using deps = ferry.deps(server.url)
    await checkDestination(deps)
    const second = configured(deps, { apiKey: 'another key' })
    {
      await using _ = await atWork(deps)
      await expect(checkDestination(second)).rejects.toMatchObject({ code: 'destination_changed' })
    }
    await othersHaveLeft()
    await checkDestination(second)
    expect(await notedKeys()).toHaveLength(2)
  })

  it('of two processes that begin at once at a new ledger, one takes it and the other is asked about', async () => {
    await using server = await showing({})
    await using deps = ferry.deps(server.url)
    const second = configured(deps, { apiKey: 'another key' })
    await using _first = await atWork(deps)
    await using _second = await atWork(second)
    const holder = new pg.Client({ connectionString: ferry.ledger.url })
    await holder.connect()
    const waiting = async () => {
      const { rows } = await ferry.ledger.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length
    }
    try {
      await holder.query('begin')
      await holder.query('select from nightferry.destination for update')
      const both = Promise.allSettled([deps, second].map((one) => checkDestination(one)))
      await expect.poll(waiting, patience).toBe(2)
      await holder.query('commit')
      expect((await both).map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    } finally {
      await holder.end()
    }
    expect(await notedKeys()).toHaveLength(1)
  })

  it('where only the address changed and the key is known, a daemon starts beside the one at work and leaves looks to it', async () => {
    await using server = await showing({ owned: [ids.property] })
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    await using _ = await atWork(deps)
    const moved = configured(deps, { baseUrl: 'https://moved.example' })
    await refuseOthersDatabase(moved)
    await expect(checkDestination(moved)).rejects.toMatchObject({ code: 'destination_changed' })
    expect((await destinationInUse(deps.db)).origin).toBe(server.url)
    for (const over of [{ apiKey: 'another key' }, { customIdentifierId: ids.brand }]) {
      await expect(refuseOthersDatabase(configured(moved, over))).rejects.toMatchObject({
        code: 'database_of_another_profile',
        message: expect.stringContaining(`address was ${server.url} and is https://moved.example`),
      })
    }
    expect(await accepted()).toEqual(['H-1'])
  })

  it('a destination is another where the address or the identifier is, and it is told what would follow', async () => {
    await using server = await showing({ owned: [ids.property] })
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    for (const [over, words] of some([
      [{ baseUrl: 'https://elsewhere.example' }, `address was ${server.url} and is https://elsewhere.example`],
      [{ baseUrl: `${server.url}/other` }, `address was ${server.url} and is ${server.url}/other`],
      [{ baseUrl: `${server.url}/other`, apiKey: 'another key' }, `address was ${server.url} and is`],
      [{ customIdentifierId: ids.brand }, `customIdentifierId was ${ids.identifier} and is ${ids.brand}`],
    ] as const)) {
      await expect(checkDestination(configured(deps, over))).rejects.toMatchObject({
        code: 'destination_changed',
        message: expect.stringMatching(
          new RegExp(`${words.replaceAll('.', '\\.')}.*same profile \\(certain.*1 rows accepted`),
        ),
      })
    }
    expect(await accepted()).toEqual(['H-1'])
  })

  it('a destination that was only read learns the identifier of who sends there, and who only reads it names none', async () => {
    await using server = await showing({ owned: [ids.property] })
    await using deps = ferry.deps(server.url)
    const reading = configured(deps, { customIdentifierId: null })
    await usedWith(reading)
    expect((await destinationInUse(deps.db)).custom_identifier_id).toBeNull()
    await checkDestination(deps)
    expect((await destinationInUse(deps.db)).custom_identifier_id).toBe(ids.identifier)
    await checkDestination(reading)
    // Another key of the same profile is bound without forgetting it.
    await checkDestination(configured(reading, { apiKey: 'another key' }))
    expect((await destinationInUse(deps.db)).custom_identifier_id).toBe(ids.identifier)
    await expect(checkDestination(configured(deps, { customIdentifierId: ids.brand }))).rejects.toMatchObject({
      code: 'destination_changed',
    })
  })

  it('a destination is the same however its address is written', async () => {
    await using server = await showing({})
    await using deps = ferry.deps(server.url)
    const staging = configured(deps, { baseUrl: `${server.url}/staging` })
    await usedWith(staging)
    await checkDestination(configured(deps, { baseUrl: `${server.url.toUpperCase()}/x/../staging//` }))
    expect(server.seen).toEqual([])
  })

  it('a destination of before paths were kept is where the configuration says, with the keys that are known', async () => {
    await using server = await showing({})
    await using deps = ferry.deps(server.url)
    const staging = configured(deps, { baseUrl: `${server.url}/staging` })
    await usedWith(staging)
    await deps.db.updateTable('destination').set({ path: null }).where('schema_name', 'is', null).execute()
    await checkDestination(staging, 'leave')
    expect(await destinationInUse(deps.db)).toMatchObject({ origin: server.url, path: '/staging' })
    expect(server.seen).toEqual([])
    await expect(checkDestination(deps, 'leave')).rejects.toThrow(
      `address was ${server.url}/staging and is ${server.url}.`,
    )
  })

  it.each<[string, Shown, RegExp | null]>([
    ['owns what the profile owned', { owned: [ids.property.toUpperCase()] }, null],
    ['shows a task that was sent', { tasks: [task] }, null],
    [
      'owns nothing and may use the same groups',
      { groups: [ids.group] },
      /cannot be told: it may use all of the 1 groups .* owns none of the 1 custom properties/,
    ],
    ['owns others', { owned: [ids.brand], groups: [ids.group] }, /another profile \(certain: it owns none of the 1/],
    ['may use other groups', { groups: [ids.company] }, /another profile \(likely: it may use none of the 1/],
    ['shows nothing', {}, /cannot be told: nothing that it shows/],
  ])('a new key that %s', async (_, shown, stops) => {
    await using server = await showing(shown)
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    const runId = await ferry.ledger.startRun()
    await ferry.ledger.pool.query(
      `insert into submission (run_id, kind, state, row_count, correlation_id) values ($1, 'company_mappings', 'settled', 0, $2)`,
      [runId, task],
    )
    const other = configured(deps, { apiKey: 'another key' })
    if (stops !== null) {
      await expect(checkDestination(other)).rejects.toThrow(stops)
      return
    }
    await checkDestination(other)
    const asked = server.seen.length
    await checkDestination(other)
    expect(server.seen).toHaveLength(asked)
  })

  it('a new key that may use the same groups is of the same profile where that owned no custom property', async () => {
    await using server = await showing({ groups: [ids.group] })
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    await deps.db.deleteFrom('reference_data').where('kind', '=', 'custom_property').execute()
    expect(await checkDestination(configured(deps, { apiKey: 'another key' }))).toEqual({ unaskedKey: false })
  })

  it('a destination stays open with a new key where the service is not to be asked, and is another if more changed', async () => {
    await using server = await showing({ owned: [ids.property] })
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    const newKey = configured(deps, { apiKey: 'another key' })
    expect(await checkDestination(newKey, 'leave')).toEqual({ unaskedKey: true })
    await expect(
      checkDestination(configured(newKey, { customIdentifierId: ids.brand }), 'leave'),
    ).rejects.toMatchObject({ code: 'destination_changed' })
    expect(server.seen).toEqual([])
  })
})

describe("a person's word", () => {
  const changeOf = async (deps: Deps) => {
    const change = await destinationChange(deps, 'leave')
    if (change === null) throw new Error('nothing has changed')
    return change
  }

  it('a word that it is the same keeps what was accepted, under the new address', async () => {
    await using server = await showing({})
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    const moved = configured(deps, { baseUrl: 'https://moved.example' })
    expect(await sameDestination(moved, await changeOf(moved), { ...said, name: 'moved' })).toMatchObject({
      destination: 'moved',
      made: false,
    })
    await checkDestination(moved)
    expect(await accepted()).toEqual(['H-1'])
  })

  it('a destination that nobody named is called by its host, also once that is another; a name that was given stays', async () => {
    await using server = await showing({})
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    const first = configured(deps, { baseUrl: 'https://first.example' })
    expect(await sameDestination(first, await changeOf(first), said)).toMatchObject({
      destination: 'first.example',
      address: 'https://first.example',
    })
    const named = configured(deps, { baseUrl: 'https://second.example' })
    await sameDestination(named, await changeOf(named), { ...said, name: 'production' })
    const third = configured(deps, { baseUrl: 'https://third.example' })
    expect(await sameDestination(third, await changeOf(third), said)).toMatchObject({
      destination: 'production',
      was: 'production',
      address: 'https://third.example',
    })
  })

  it('a word that it is another begins with nothing, and finds again what the first took when that is back', async () => {
    await using server = await showing({ owned: [ids.property] })
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    const other = configured(deps, { baseUrl: 'https://other.example' })
    expect(await otherDestination(other, await changeOf(other), said)).toMatchObject({
      destination: 'other.example',
      made: true,
    })
    await checkDestination(other)
    expect(await accepted()).toEqual([])
    // What the partner has by then is what the first is brought up to.
    await ferry.ledger.landChecked('properties', [
      { partner_id: 'H-1', content: { name: 'two' } },
      { partner_id: 'H-2', content: { name: 'new' } },
    ])
    await expect(
      otherDestination(deps, await changeOf(deps), { ...said, name: 'other.example' }),
    ).rejects.toMatchObject({
      code: 'name_taken',
    })
    const back = await otherDestination(deps, await changeOf(deps), said)
    expect(back).toMatchObject({ was: 'other.example', made: false })
    const rows = await ferry.ledger.db
      .selectFrom('ledger')
      .select(['row_key', 'pending', 'accepted_hash'])
      .orderBy('row_key')
      .execute()
    expect(rows.map(({ row_key, pending, accepted_hash }) => [row_key, pending, accepted_hash !== null])).toEqual([
      ['H-1', true, true],
      ['H-2', true, false],
    ])
    expect(await allDestinations(deps.db)).toHaveLength(2)
  })

  it('a destination beside the first under one host is told from it, and so is what is known of the key', async () => {
    await using server = await showing({ owned: [ids.property] })
    await using deps = ferry.deps(server.url)
    const staging = configured(deps, { baseUrl: `${server.url}/staging` })
    const production = configured(deps, { baseUrl: `${server.url}/production` })
    await usedWith(staging)
    const { fingerprint } = configuredDestination(staging)
    const known = () => apiKeyIdOf(deps.db, fingerprint)
    await sql`insert into service_key (fingerprint) values (${fingerprint})`.execute(deps.db)
    await storeApiKeyId(deps.db, fingerprint, 'a key at staging')

    expect(await otherDestination(production, await changeOf(production), said)).toMatchObject({ made: true })
    await checkDestination(production)
    expect([await accepted(), await known()]).toEqual([[], null])
    // As one that waits since before paths were kept.
    await deps.db.updateTable('destination').set({ path: null }).where('schema_name', 'is not', null).execute()
    expect(await otherDestination(staging, await changeOf(staging), said)).toMatchObject({ made: false })
    await checkDestination(staging)
    expect(await accepted()).toEqual(['H-1'])
    expect(await otherDestination(production, await changeOf(production), said)).toMatchObject({ made: false })
    expect(await accepted()).toEqual([])
  })

  it('a row that was gone and is there again while another destination was in use is sent again to the first', async () => {
    await using server = await showing({ owned: [ids.property] })
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    await ferry.ledger.pool.query('update source_row set gone_at = clock_timestamp()')
    const other = configured(deps, { baseUrl: 'https://other.example' })
    await otherDestination(other, await changeOf(other), { ...said, name: 'second' })
    const returned = [{ partner_id: 'H-1', content: { name: 'one' } }]
    // A plan says nothing to anybody but who asked for it.
    await withShadow(ferry.ledger.pool, async ({ pool }) => {
      expect(await landingOn(pool)('properties', returned)).toMatchObject({ returned: 1 })
    })
    const first = await waitingAt(deps.db, server.url)
    const tookThere = async () => {
      const { rows } = await sql<{ accepted: number }>`
        select count(*) as accepted from ${sql.id(first?.schema_name ?? '', 'acceptance')}
        where accepted_hash is not null`.execute(deps.db)
      return rows[0]?.accepted
    }
    expect(await tookThere()).toBe(1)
    expect(await ferry.ledger.land('properties', returned)).toMatchObject({ returned: 1 })
    await otherDestination(deps, await changeOf(deps), said)
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({ pending: true, outcome_code: 'row_returned' })
  })

  it('a word that it is another says that what that took is lost, where a backup left out its tables', async () => {
    await using server = await showing({ owned: [ids.property] })
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    const other = configured(deps, { baseUrl: 'https://other.example' })
    await otherDestination(other, await changeOf(other), said)
    const waiting = await waitingAt(deps.db, server.url)
    await sql`drop schema ${sql.id(waiting?.schema_name ?? '')} cascade`.execute(deps.db)
    expect(await otherDestination(deps, await changeOf(deps), said)).toMatchObject({ made: false, lost: true })
    expect(await accepted()).toEqual([])
  })

  it('no word is taken while a run is under way', async () => {
    await using server = await showing({})
    await using deps = ferry.deps(server.url)
    await usedWith(deps)
    await ferry.ledger.startRun()
    const other = configured(deps, { baseUrl: 'https://third.example' })
    const change = await changeOf(other)
    for (const decide of [sameDestination, otherDestination]) {
      await expect(decide(other, change, said)).rejects.toMatchObject({
        code: 'run_under_way',
        message: expect.stringContaining('nightferry run nightly-sync ends it'),
      })
    }
  })
})
