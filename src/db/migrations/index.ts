import type { Migration } from 'kysely/migration'
import * as ledger from './0001-ledger.ts'
import * as calculators from './0002-calculators.ts'
import * as extraction from './0003-extraction.ts'
import * as actions from './0004-actions.ts'
import * as differences from './0011-differences.ts'

/** Every migration by its file name, in order. A test compares the list with the folder. Forward only. */
export const migrations: Record<string, Migration> = {
  '0001-ledger': ledger,
  '0002-calculators': calculators,
  '0003-extraction': extraction,
  '0004-actions': actions,
  '0011-differences': differences,
}
