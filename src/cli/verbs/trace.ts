import { requirementsOf } from '../../config/require-settings.ts'
import type { Database } from '../../db/database.ts'
import { tracePartner } from '../../db/trace/trace-partner.ts'
import { hotelsOf, likePartnerIds } from '../../db/trace/trace-service.ts'
import { resendPolicies } from '../../pipeline/preflight/judging-basis.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, UsageError } from '../cli.ts'
import { readContract } from '../read-config.ts'
import { renderTrace } from '../show/render-trace.ts'
import { headlines, rowGroups } from '../show/row-groups.ts'
import { withDatabase } from '../with-database.ts'

/**
 * `nightferry trace <hotel>`: one hotel, from the partner's database to the calculators that came back. It is named by
 * the partner's id, or by that of the company which it is mapped to.
 * @throws {UsageError} when nothing was ever read of such a hotel; exit code 2, as with everything misnamed.
 */
export async function trace(cli: Cli, hotel: string, options: CommonOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }, config) => {
    const policies = resendPolicies(config, readContract(cli, config))
    const traced = (id: string) => tracePartner(db, id, requirementsOf(config), policies)
    const found = (await traced(hotel)) ?? (await traced(await hotelOfCompany(db, hotel)))
    if (found === null) throw await nobodyLike(db, hotel)
    const groups = rowGroups(found.rows)
    if (options.json) {
      const { partner_id, streams, company, submissions, differences, actions } = found
      const in_short = headlines(found, groups)
      printJson(cli.stdout, { partner_id, in_short, streams, company, rows: groups, submissions, differences, actions })
    } else cli.stdout.write(renderTrace(found, groups))
    return exitCodes.well
  })
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * The hotel that is mapped to a company; what is no id of a company stays as it is.
 * @throws {UsageError} when no hotel is mapped to it, or several are.
 */
async function hotelOfCompany(db: Database, text: string): Promise<string> {
  const companyId = text.trim().toLowerCase()
  if (!uuid.test(companyId)) return text
  const hotels = await hotelsOf(db, companyId)
  const [only] = hotels
  if (only === undefined) {
    throw new UsageError(`No hotel is mapped to the company ${companyId}, and none has this id in your database.`)
  }
  if (hotels.length === 1) return only
  throw new UsageError(
    `${hotels.length} hotels are mapped to the company ${companyId}: ${hotels.join(', ')}. Trace one of them.`,
  )
}

async function nobodyLike(db: Database, partnerId: string): Promise<UsageError> {
  const { near, examples } = await likePartnerIds(db, partnerId)
  const head = `Nothing was ever read of a hotel '${partnerId}'.`
  if (near.length > 0) return new UsageError(`${head} Was ${near.join(' or ')} meant?`)
  if (examples.length === 0)
    return new UsageError(`${head} Nothing was read of any: nightferry run nightly-sync begins.`)
  return new UsageError(`${head} Ids are those of the partner's database, such as ${examples.join(', ')}`)
}
