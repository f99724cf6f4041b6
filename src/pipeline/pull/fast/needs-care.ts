/**
 * Something on a page that the fast way does not do: it is loaded again with care, alone and every row compared.
 * The message is a stable code, kept with the page.
 */
export class NeedsCare extends Error {}

/**
 * SQLSTATEs of two pages, or one page twice, that wrote the same: a unique violation and a deadlock. A statement that
 * runs beside others may fail before anyone asks for it, and the next one then says only that one before it has.
 */
const contention: Record<string, string> = {
  '23505': 'same_rows_twice',
  '40P01': 'deadlock',
  '25P02': 'earlier_statement_failed',
}

/** Why a page whose fast load failed is to be loaded with care; undefined if care would not help. */
export function reasonForCare(error: unknown): string | undefined {
  if (error instanceof NeedsCare) return error.message
  return contention[String((error as { code?: unknown }).code)]
}
