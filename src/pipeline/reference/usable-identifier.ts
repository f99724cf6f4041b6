import type { Config } from '../../config/schema.ts'
import type { CustomProperty } from '../../exchange/reference-data.ts'

/**
 * Why a custom property cannot name properties, or null. It is an identifier of the key's own profile, and for
 * framework answers a String (Company mapping request, Calculator upsert request, Framework answers upsert request).
 * Pure.
 */
export function whyNoIdentifier(
  { isIdentifier, isOwnedByInvokingCompany, ownerName, type }: CustomProperty,
  streams: Config['streams'],
): string | null {
  if (!isIdentifier) return 'is a custom property, but no identifier'
  if (isOwnedByInvokingCompany === false) return `belongs to ${ownerName ?? 'another profile'}`
  const answers = streams.framework_answers !== undefined || streams.omissions !== undefined
  if (answers && type !== null && type.toLowerCase() !== 'string') {
    return `is of the type ${type}, and not String as framework answers need it`
  }
  return null
}
