const form = 'http://user:password@proxy.example.com:3128, user and password only if it wants them'

/**
 * What is wrong with the address of a proxy, and what to write instead; null where nothing is. The words quote no part
 * of it, because any part may be one of the password. Pure.
 */
export function proxyProblem(text: string): string | null {
  const encoded = 'in the user or password write / as %2F, ? as %3F, # as %23 and % as %25'
  if (!/^https?:\/\//i.test(text)) return `is the address of no proxy that Nightferry knows; it looks like ${form}`
  if (!URL.canParse(text)) return `is no address; it looks like ${form}; ${encoded}`
  const { pathname, search, hash, username, password } = new URL(text)
  if (pathname + search + hash !== '/') return `holds more than a host and a port; it looks like ${form}; ${encoded}`
  try {
    decodeURIComponent(username + password)
    return null
  } catch {
    return `holds a % that begins no character; ${encoded}`
  }
}
