import type { Migration } from 'kysely/migration'
import type { MigrationName } from '../migration-names.ts'
import * as ledger from './0001-ledger.ts'
import * as calculators from './0002-calculators.ts'
import * as extraction from './0003-extraction.ts'
import * as actions from './0004-actions.ts'
import * as reference from './0005-reference.ts'
import * as planning from './0006-planning.ts'
import * as sending from './0007-sending.ts'
import * as outcomes from './0008-outcomes.ts'
import * as extractionSpeed from './0009-extraction-speed.ts'
import * as differences from './0010-differences.ts'
import * as pullSpeed from './0011-pull-speed.ts'
import * as documents from './0012-documents.ts'
import * as history from './0013-history.ts'
import * as readers from './0014-readers.ts'
import * as destinations from './0015-destinations.ts'
import * as notRenewed from './0016-not-renewed.ts'
import * as waiting from './0017-waiting.ts'
import * as reading from './0018-reading.ts'
import * as comparisons from './0021-comparisons.ts'
import * as ownDatabase from './0022-own-database.ts'
import * as heldRows from './0023-held-rows.ts'
import * as endedSubmissions from './0024-ended-submissions.ts'
import * as standingDifferences from './0025-standing-differences.ts'
import * as heldProperties from './0026-held-properties.ts'
import * as notifications from './0027-notifications.ts'
import * as jobs from './0028-jobs.ts'
import * as webhooks from './0030-webhooks.ts'
import * as housekeeping from './0032-housekeeping.ts'
import * as deadlines from './0033-deadlines.ts'
import * as contentBytes from './0035-content-bytes.ts'
import * as notificationDestinations from './0037-notification-destinations.ts'
import * as factsOfRequests from './0038-facts-of-requests.ts'
import * as unknownTasks from './0039-unknown-tasks.ts'
import * as shownAndSpelled from './0040-shown-and-spelled.ts'
import * as queriesAndSpellings from './0041-queries-and-spellings.ts'
import * as jobSchedules from './0042-job-schedules.ts'
import * as wholeDestinations from './0043-whole-destinations.ts'
import * as spelledProperties from './0044-spelled-properties.ts'
import * as perhapsTaken from './0045-perhaps-taken.ts'
import * as acceptedBy from './0046-accepted-by.ts'
import * as spelledDocuments from './0047-spelled-documents.ts'
import * as partnerClock from './0048-partner-clock.ts'
import * as whatWasCarried from './0049-what-was-carried.ts'
import * as suspendedHotels from './0052-suspended-hotels.ts'
import * as livingHotels from './0055-living-hotels.ts'
import * as foundAtOnce from './0056-found-at-once.ts'
import * as failingPages from './0057-failing-pages.ts'
import * as foundCandidates from './0058-found-candidates.ts'
import * as lookups from './0059-lookups.ts'
import * as livingDifferences from './0060-living-differences.ts'
import * as returned from './0061-returned.ts'

/**
 * Every migration by its file name, in the order of migration-names.ts. A test compares the list with the folder.
 * Forward only.
 */
export const migrations: Record<MigrationName, Migration> = {
  '0001-ledger': ledger,
  '0002-calculators': calculators,
  '0003-extraction': extraction,
  '0004-actions': actions,
  '0005-reference': reference,
  '0006-planning': planning,
  '0007-sending': sending,
  '0008-outcomes': outcomes,
  '0009-extraction-speed': extractionSpeed,
  '0010-differences': differences,
  '0011-pull-speed': pullSpeed,
  '0012-documents': documents,
  '0013-history': history,
  '0014-readers': readers,
  '0015-destinations': destinations,
  '0016-not-renewed': notRenewed,
  '0017-waiting': waiting,
  '0018-reading': reading,
  '0021-comparisons': comparisons,
  '0022-own-database': ownDatabase,
  '0023-held-rows': heldRows,
  '0024-ended-submissions': endedSubmissions,
  '0025-standing-differences': standingDifferences,
  '0026-held-properties': heldProperties,
  '0027-notifications': notifications,
  '0028-jobs': jobs,
  '0030-webhooks': webhooks,
  '0032-housekeeping': housekeeping,
  '0033-deadlines': deadlines,
  '0035-content-bytes': contentBytes,
  '0037-notification-destinations': notificationDestinations,
  '0038-facts-of-requests': factsOfRequests,
  '0039-unknown-tasks': unknownTasks,
  '0040-shown-and-spelled': shownAndSpelled,
  '0041-queries-and-spellings': queriesAndSpellings,
  '0042-job-schedules': jobSchedules,
  '0043-whole-destinations': wholeDestinations,
  '0044-spelled-properties': spelledProperties,
  '0045-perhaps-taken': perhapsTaken,
  '0046-accepted-by': acceptedBy,
  '0047-spelled-documents': spelledDocuments,
  '0048-partner-clock': partnerClock,
  '0049-what-was-carried': whatWasCarried,
  '0052-suspended-hotels': suspendedHotels,
  '0055-living-hotels': livingHotels,
  '0056-found-at-once': foundAtOnce,
  '0057-failing-pages': failingPages,
  '0058-found-candidates': foundCandidates,
  '0059-lookups': lookups,
  '0060-living-differences': livingDifferences,
  '0061-returned': returned,
}
