/** Schemes whose addresses have no place for a password: a file, a socket, a database of the embedded server. */
const withoutPassword = /^(embedded|file|socket):/

/**
 * What is wrong with the address of a database, and what to write instead. Null: nothing that can be seen before it is
 * used. A password with a bare character of URLs moves the borders of the address, so the text is read as a person
 * reads it: up to the last @. The words quote no part of the address, because any part may be one of the password.
 *
 * @param scheme what to put in front of an address that has none.
 */
export function addressProblem(text: string, scheme: string): string | null {
  if (withoutPassword.test(text)) return null
  const separator = text.indexOf('://')
  if (separator === -1 || !/^[a-z][a-z0-9+.-]*$/i.test(text.slice(0, separator))) {
    return `is no URL: no scheme stands at its beginning; write ${scheme}://user:password@host:5432/database`
  }
  const rest = text.slice(separator + 3)
  const character = bareCharacter(rest)
  if (character !== null) {
    return `holds ${character} that is not percent-encoded: in the user or password write ${encodings}`
  }
  if (URL.canParse(text)) return null
  return `is no URL; it looks like ${scheme}://user:password@host:5432/database, with ${encodings} in the user or password`
}

const encodings = '@ as %40, / as %2F, ? as %3F, # as %23 and % as %25'

/** The first character of the user or password that has to be percent-encoded and is not, in words. */
function bareCharacter(rest: string): string | null {
  // The address of a database has no fragment.
  if (rest.includes('#')) return 'a #'
  const end = rest.search(/[/?]/)
  const authority = end === -1 ? rest : rest.slice(0, end)
  if (authority.split('@').length > 2) return 'an @'
  if (/%(?![0-9a-f]{2})/i.test(authority)) return 'a %'
  if (end === -1) return null
  const tail = rest.slice(end)
  const question = tail.indexOf('?')
  const path = question === -1 ? tail : tail.slice(0, question)
  if (path.includes('@')) return 'a / before an @'
  const parameters = question === -1 ? [] : tail.slice(question + 1).split('&')
  const cut = parameters.some((one) => one.includes('@') && !mayHoldAt.has(one.split('=', 1)[0] ?? ''))
  return cut ? 'a ? before an @' : null
}

/** Parameters of drivers whose values are names or files, in which an @ is nothing special. */
const mayHoldAt = new Set([
  ...['user', 'password', 'host', 'dbname', 'application_name', 'fallback_application_name', 'options'],
  ...['passfile', 'sslcert', 'sslkey', 'sslrootcert', 'sslpassword'],
])
