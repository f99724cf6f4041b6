import type { RawBuilder } from 'kysely'
import type { PartnerOptions } from './dialect.ts'
import { PartnerDatabaseError, unreachable } from './partner-database-error.ts'

/**
 * A connection to a server whose driver is only there where somebody wants it, see docs/decisions/0015. `Field` is what
 * the driver says of a column, `Value` what it makes of a value.
 */
export type ServerSession<Field, Value> = {
  /** The whole answer to a statement of ours, as texts. */
  ask(statement: RawBuilder<unknown>): Promise<{ fields: Field[]; rows: (string | null)[][] }>
  /** Rows a few at a time; the server waits while nobody takes them. */
  read(statement: RawBuilder<unknown>, fetchRows: number): AsyncGenerator<Value[][]>
  close(): Promise<void>
}

/**
 * Connects, and makes of the session what `begin` does; where that fails it is closed again.
 * @throws {PartnerDatabaseError} as `begin` does; `partner_unreachable`, naming the place but never the password.
 */
export async function inSession<Session extends { close(): Promise<void> }, Made>(
  options: PartnerOptions,
  connect: (options: Required<PartnerOptions>) => Promise<Session>,
  begin: (session: Session) => Promise<Made>,
): Promise<Made> {
  let session: Session | undefined
  try {
    session = await connect({ ...options, connectTimeoutMs: options.connectTimeoutMs ?? 15_000 })
    return await begin(session)
  } catch (error) {
    await session?.close()
    throw unreachable(options.url, error)
  }
}

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
