import { PartnerDatabaseError } from './partner-database-error.ts'

/**
 * Loads a driver that is only there where somebody wants it.
 * @throws {PartnerDatabaseError} `partner_driver_missing`, with the packages to install.
 */
export async function loadDriver<T>(database: string, packages: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new PartnerDatabaseError(
      'partner_driver_missing',
      `To read ${database} Nightferry needs a driver that is not installed: npm install ${packages.join(' ')}, where Nightferry is installed (with --global if it is so).`,
      { cause: error },
    )
  }
}
