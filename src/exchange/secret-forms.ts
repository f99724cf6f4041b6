/** Shorter pieces of base64 would stand in harmless text by chance. */
const shortestPiece = 6

/**
 * Every form in which a secret may stand in a line: as texts write it, and in base64. Longest first, so that no form
 * hides a part of another.
 */
export function secretForms(secret: string): string[] {
  return [...new Set([...textForms(secret), ...base64Forms(secret)])].toSorted((a, b) => b.length - a.length)
}

/** A secret as it is, as JSON writes it (also within a text of JSON), and percent-encoded. */
export function textForms(secret: string): string[] {
  const encoded = encodeURIComponent(secret)
  const escaped = JSON.stringify(secret).slice(1, -1)
  return [
    secret,
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    encoded,
    encoded.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
    encoded.replaceAll('%20', '+'),
    encodeURI(secret),
  ]
}

/** A secret in base64, as in a Basic authorization, where it need not begin on a border. */
export function base64Forms(secret: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const piece = inBase64(secret, offset)
    return [piece, piece.replaceAll('+', '-').replaceAll('/', '_')].filter(({ length }) => length >= shortestPiece)
  })
}

/** Replaces the API key in a text, in every form in which it may stand. */
export function concealingKey(apiKey: string): (text: string) => string {
  const forms = secretForms(apiKey)
  return (text) => forms.reduce((left, form) => left.replaceAll(form, '[API key]'), text)
}

/** A key this short, or a piece of one, may stand in an id or a name by chance: data are not altered for it. */
const shortestConcealed = 12

/** JSON that the service sent, with the API key replaced wherever a text repeats it; the same value where none does. */
export function withoutKey(json: unknown, apiKey: string): unknown {
  const forms = secretForms(apiKey).filter(({ length }) => length >= shortestConcealed)
  const concealed = (text: string) => forms.reduce((left, form) => left.replaceAll(form, '[API key]'), text)
  const conceal = (value: unknown): unknown => {
    if (typeof value === 'string') return concealed(value)
    if (Array.isArray(value)) return value.map(conceal)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [concealed(name), conceal(member)]))
  }
  const repeats = (value: unknown): boolean => {
    if (typeof value === 'string') return forms.some((form) => value.includes(form))
    if (Array.isArray(value)) return value.some(repeats)
    return typeof value === 'object' && value !== null && Object.entries(value).some((entry) => entry.some(repeats))
  }
  return repeats(json) ? conceal(json) : json
}

/** The characters of base64 that the secret alone decides, when it begins so many bytes after a border. */
function inBase64(secret: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
  const whole = bytes.length - (bytes.length % 3)
  const text = bytes.subarray(0, whole).toString('base64')
  // A character stands for six bits: those that share bits with what stands before are not ours alone.
  return text.slice(Math.ceil((offset * 8) / 6))
}
