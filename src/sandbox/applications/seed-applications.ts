import { certifierProfile } from '../catalogue/accounts.ts'
import { type DataPoint, dataPointsOf } from '../catalogue/frameworks.ts'
import { catalogue } from '../catalogue.ts'
import type { Queryable } from '../running-sandbox.ts'
import { uuidFrom } from '../uuid-from.ts'
import { applicationStatuses } from './application.ts'

/** How many companies have an application: enough for every status and standard, few enough to look through. */
const seededApplications = 20

/** When the first one was made; each later one a day after. The same in every world, like the ids. */
const firstCreatedAt = Date.UTC(2026, 0, 5, 9)
const dayMs = 24 * 60 * 60 * 1000

/**
 * Gives the first companies an application each, owned by the certifier's profile, with answers to a few data points.
 * What an earlier start seeded stays, with every change since.
 */
export async function seedApplications(client: Queryable, seed: number): Promise<void> {
  const { rows: companies } = await client.query<{ id: string; number: number }>(
    'select id, number from sandbox.company order by number limit $1',
    [seededApplications],
  )
  const applications = companies.map(({ id: companyId, number }, index) => ({
    id: uuidFrom(`application ${seed} ${number}`),
    number,
    companyId,
    standardId: pick(catalogue.standards, index).id,
    status: pick(applicationStatuses, index),
    createdAt: new Date(firstCreatedAt + index * dayMs),
  }))
  const { rows: created } = await client.query<{ id: string; number: number }>(
    `insert into sandbox.application (id, number, profile_id, company_id, standard_id, status, created_at)
     select id, number, $1, company_id, standard_id, status, created_at
     from unnest($2::uuid[], $3::int[], $4::uuid[], $5::uuid[], $6::text[], $7::timestamptz[])
       as seeded (id, number, company_id, standard_id, status, created_at)
     on conflict do nothing
     returning id, number`,
    [
      certifierProfile.id,
      applications.map(({ id }) => id),
      applications.map(({ number }) => number),
      applications.map(({ companyId }) => companyId),
      applications.map(({ standardId }) => standardId),
      applications.map(({ status }) => status),
      applications.map(({ createdAt }) => createdAt),
    ],
  )
  await seedAnswers(client, created)
}

async function seedAnswers(client: Queryable, applications: readonly { id: string; number: number }[]): Promise<void> {
  const answers = applications.flatMap(({ id, number }) =>
    answeredPoints.map((point) => ({ id, point, values: JSON.stringify([exampleValue(point, number)]) })),
  )
  await client.query(
    `insert into sandbox.application_answer (application_id, data_point_id, values)
     select * from unnest($1::uuid[], $2::uuid[], $3::jsonb[])`,
    [answers.map(({ id }) => id), answers.map(({ point }) => point.id), answers.map(({ values }) => values)],
  )
}

/** The first data point of each of these types that takes no unit. */
const answeredPoints = (['boolean', 'number', 'text', 'list'] as const).flatMap((valueType) => {
  const points = catalogue.frameworks.flatMap(dataPointsOf)
  return points.find((point) => point.valueType === valueType && point.unitTypes.length === 0) ?? []
})

function exampleValue(point: DataPoint, number: number): unknown {
  switch (point.valueType) {
    case 'boolean':
      return number % 2 === 0
    case 'number':
      return 10 + (number % 90)
    case 'list':
      return point.options.slice(0, 1 + (number % point.options.length)).map(({ id }) => id)
    default:
      return `As described in our handbook, chapter ${number}.`
  }
}

function pick<T>(values: readonly T[], index: number): T {
  const value = values[index % values.length]
  if (value === undefined) throw new RangeError('there is nothing to pick from')
  return value
}
