import { isUtf8 } from 'node:buffer'
import { PartnerDatabaseError } from './partner-database-error.ts'

/**
 * A text as it came, or a refusal: a NUL, half a surrogate pair or bytes that are no UTF-8 can be neither stored nor
 * sent as they are, and nothing is altered silently.
 * @throws {PartnerDatabaseError} `partner_query_failed`, with the stream and the column.
 */
export function exactText(stream: string, column: string, value: string | Buffer): string {
  const text = typeof value === 'string' ? value : value.toString('utf8')
  const broken = typeof value === 'string' ? !text.isWellFormed() : text.includes('\uFFFD') && !isUtf8(value)
  if (!broken && !text.includes('\0')) return text
  throw new PartnerDatabaseError(
    'partner_query_failed',
    `The stream ${stream} yields a text with ${broken ? 'broken characters' : 'a NUL character'} in ${column}, which can be neither stored nor sent. Fix the value, or streams.${stream}.query.`,
  )
}

/** Bytes as text, as PostgreSQL writes them. */
export function bytesText(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

/** The bytes that `bytesText` wrote. */
export function textBytes(text: string): Buffer {
  return Buffer.from(text.replace(/^\\x/, ''), 'hex')
}
