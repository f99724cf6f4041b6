/** Variables of which the value, or the password in it, may be written nowhere. */
const secretVariables = ['EXCHANGE_API_KEY', 'DATABASE_URL', 'PARTNER_DATABASE_URL'] as const

/** Shorter ones stand in a text by chance. */
const shortest = 8

/** The secrets that a process was given, by the variable that holds each. */
export function secretsOf(env: Readonly<Record<string, string>>): Map<string, string> {
  const secrets = new Map<string, string>()
  for (const name of secretVariables) {
    const value = env[name] ?? ''
    const secret = URL.canParse(value) ? decodeURIComponent(new URL(value).password) : value
    if (secret.length >= shortest) secrets.set(name, secret)
  }
  return secrets
}

/** The variables whose secrets a text holds: as they are, escaped by JSON once or twice, percent-encoded, in base64 or in hex. */
export function leakedIn(text: string, secrets: ReadonlyMap<string, string>): string[] {
  return [...secrets]
    .filter(([, secret]) => writings(secret).some((written) => text.includes(written)))
    .map(([name]) => name)
}

function writings(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1)
  const hex = Buffer.from(secret).toString('hex')
  return [
    ...[secret, escaped, JSON.stringify(escaped).slice(1, -1)],
    ...[encodeURIComponent(secret), new URLSearchParams({ '': secret }).toString().slice(1)],
    ...[hex, hex.toUpperCase()],
    // Where it begins within three bytes decides how it is written; what touches its neighbours is left out.
    ...[0, 1, 2].flatMap((before) => {
      const within = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]).subarray(before === 0 ? 0 : 3)
      const whole = within.subarray(0, within.length - (within.length % 3))
      return whole.length < shortest ? [] : [whole.toString('base64'), whole.toString('base64url')]
    }),
  ]
}
