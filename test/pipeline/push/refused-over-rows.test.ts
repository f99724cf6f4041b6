import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { submissionReports } from '../../../src/db/runs/report-rows.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { noticesOf } from '../../../src/pipeline/report/notices.ts'
import { refusalRemarks } from '../../../src/pipeline/report/report.ts'
import type { Landing } from '../../db/ledger/ledger.ts'
import { type HttpServer, httpServer, sendJson } from '../../exchange/fault-server.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { openFerry } from './ferry.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** A service that refuses a request in which one of some texts stands, and maps what every other names. */
/** @param answer of what it refuses. */
async function pickyService(
  status: number,
  refused: (body: string) => boolean,
  answer: object = { errorCode: 'name_invalid', message: 'A name is not allowed.' },
): Promise<HttpServer & { posts(): number }> {
  const bodies = new Map<string, string>()
  const server = await httpServer((request, response) => {
    if (request.method === 'POST') {
      if (refused(request.body)) {
        return sendJson(response, answer, status)
      }
      const correlationId = randomUUID()
      bodies.set(correlationId, request.body)
      return sendJson(response, { correlationId })
    }
    const id = request.path.split('/').at(-1) ?? ''
    if (!request.path.startsWith('/files/')) {
      return sendJson(response, {
        correlationId: id,
        status: 'Success',
        file: { url: `http://${request.headers.host}/files/${id}` },
      })
    }
    const { companies } = JSON.parse(bodies.get(id) ?? '') as { companies: { id: string }[] }
    return sendJson(response, {
      companies: companies.map((one) => ({ id: one.id, status: 'Mapped', companyId: randomUUID() })),
    })
  })
  return { ...server, posts: () => server.seen.filter(({ method }) => method === 'POST').length }
}

const properties = (count: number, from = 0): Landing[] =>
  Array.from({ length: count }, (_, at) => ({
    partner_id: `H-${String(at + from).padStart(3, '0')}`,
    content: { name: `n${at + from}.` },
  }))

async function untilAllSettled(deps: Deps): Promise<void> {
  for (let looks = 0; looks < 500; looks++) {
    const open = await ferry.ledger.db
      .selectFrom('submission')
      .select('submission_id')
      .where('state', 'in', ['planned', 'sending', 'accepted', 'terminal', 'uncertain'])
      .orderBy('submission_id')
      .execute()
    const next = open[looks % Math.max(open.length, 1)]
    if (next === undefined) return
    await lookAtSubmission(deps, next.submission_id)
  }
  throw new Error('submissions are unfinished after 500 looks')
}

const rows = () =>
  ferry.ledger.db
    .selectFrom('ledger')
    .select(['row_key', 'outcome', 'outcome_code', 'outcome_reason', 'refused_hash', 'held_by'])
    .orderBy('row_key')
    .execute()

describe('a request that the service refuses', () => {
  it.each([400, 403, 422])(
    'a request refused with %i over one of its rows is split until that row stands alone, and the others are accepted',
    async (status) => {
      await using service = await pickyService(status, (body) => body.includes('"n37."'))
      await using deps = ferry.deps(service.url)
      await ferry.planned(deps, 'properties', properties(60))
      await untilAllSettled(deps)
      const all = await rows()
      expect(all.filter(({ outcome }) => outcome === 'confirmed')).toHaveLength(59)
      const refused = all.filter(({ outcome }) => outcome !== 'confirmed')
      expect(refused).toMatchObject([
        {
          row_key: 'H-037',
          outcome: 'rejected',
          outcome_code: 'name_invalid',
          outcome_reason: 'A name is not allowed. (it was sent alone)',
          refused_hash: expect.any(Buffer),
          held_by: null,
        },
      ])
      // Two for each time that 60 can be halved, and the first.
      expect(service.posts()).toBeLessThanOrEqual(13)
      const { run_id } = await ferry.ledger.db
        .selectFrom('run')
        .select('run_id')
        .where('state', '=', 'running')
        .executeTakeFirstOrThrow()
      const submissions = await submissionReports(ferry.ledger.db, run_id)
      expect(noticesOf([], submissions)).toEqual([
        expect.stringMatching(/^Submission \d+ was split .*refused it \(name_invalid\); 1 row was found/),
      ])
      expect(refusalRemarks(submissions)).toEqual([])
      // The next night does not send the same bytes: the row waits until it changes.
      await ferry.ledger.db.updateTable('run').set({ state: 'finished' }).execute()
      await ferry.ledger.startRun()
      expect(await ferry.wave(deps)).toBe(false)
    },
  )

  it('a request refused over all that it carries is tried in quarters and no smaller, keeps no row out, and the cause is told once', async () => {
    await using service = await pickyService(400, () => true)
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(60))
    await untilAllSettled(deps)
    expect(service.posts()).toBe(7)
    // A second request of the run is not split for the same reason.
    await ferry.ledger.landChecked('properties', properties(20, 60))
    await ferry.ledger.db.deleteFrom('kind_sweep').execute()
    await ferry.wave(deps)
    await untilAllSettled(deps)
    expect(service.posts()).toBe(8)
    const all = await rows()
    expect(all).toHaveLength(80)
    for (const row of some(all)) {
      expect(row).toMatchObject({
        outcome: 'rejected',
        outcome_code: 'name_invalid',
        refused_hash: null,
        held_by: null,
      })
    }
    const { run_id } = await ferry.ledger.db
      .selectFrom('run')
      .select('run_id')
      .where('state', '=', 'running')
      .executeTakeFirstOrThrow()
    expect(refusalRemarks(await submissionReports(ferry.ledger.db, run_id))).toEqual([
      expect.stringMatching(
        /^The service refuses company_mappings whatever they carry \(name_invalid: A name is not allowed\.\)/,
      ),
    ])
    // Once the cause is gone the next run sends everything.
    await ferry.ledger.db.updateTable('run').set({ state: 'finished' }).execute()
    await ferry.ledger.startRun()
    expect(await ferry.wave(deps)).toBe(true)
  })

  it('a request refused with 403 by a gateway keeps no row out, also one that it refuses alone', async () => {
    await using service = await pickyService(403, (body) => body.includes('"n37."'), { blocked: 'rate rule' })
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(60))
    await untilAllSettled(deps)
    const refused = (await rows()).filter(({ outcome }) => outcome !== 'confirmed')
    expect(refused).toMatchObject([{ row_key: 'H-037', outcome: 'rejected', refused_hash: null, held_by: null }])
  })

  it('a request refused with 403 over what all of its kind name is split once in a run, and the others are tried whole', async () => {
    await using service = await pickyService(403, () => true)
    await using deps = ferry.deps(service.url)
    for (const from of [0, 60, 120]) {
      if (from === 0) await ferry.planned(deps, 'properties', properties(60))
      else {
        await ferry.ledger.landChecked('properties', properties(60, from))
        await ferry.ledger.db.deleteFrom('kind_sweep').execute()
        await ferry.wave(deps)
      }
      await untilAllSettled(deps)
    }
    // It, its halves and theirs; then one for each of the others.
    expect(service.posts()).toBe(9)
    for (const row of some(await rows())) expect(row).toMatchObject({ outcome: 'rejected', refused_hash: null })
  })

  it('a request of two rows that the service refuses alone too keeps neither out: nothing shows that it is the rows', async () => {
    await using service = await pickyService(422, () => true)
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(2))
    await untilAllSettled(deps)
    expect(await rows()).toMatchObject([{ refused_hash: null }, { refused_hash: null }])
    expect(service.posts()).toBe(3)
  })

  it('a refused request that a process left unjudged when it died is split by the next look', async () => {
    await using service = await pickyService(422, (body) => body.includes('"n1."'))
    await using deps = ferry.deps(service.url)
    const id = await ferry.planned(deps, 'properties', properties(4))
    const refusal = { status: 422, code: 'name_invalid', reason: 'No.', message: 'No.' }
    await ferry.ledger.markSent(id)
    await ferry.ledger.db
      .updateTable('submission')
      .set({ state: 'terminal', correlation_id: null, refusal: JSON.stringify(refusal) })
      .execute()
    await untilAllSettled(deps)
    const refused = (await rows()).filter(({ outcome }) => outcome !== 'confirmed')
    expect(refused).toMatchObject([{ row_key: 'H-001', outcome: 'rejected' }])
  })
})
