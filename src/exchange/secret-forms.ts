/** Shorter pieces of base64 would stand in harmless text by chance. */
const shortestPiece = 6

/**
 * Every form in which a secret may stand in a line: as it is, as JSON writes it (also within a text of JSON),
 * percent-encoded, and in base64, as in a Basic authorization, where it need not begin on a border. Longest first, so that
 * no form hides a part of another.
 */
export function secretForms(secret: string): string[] {
  const encoded = encodeURIComponent(secret)
  const escaped = JSON.stringify(secret).slice(1, -1)
  const forms = [
    secret,
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    encoded,
    encoded.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
    encoded.replaceAll('%20', '+'),
    encodeURI(secret),
    ...[0, 1, 2].flatMap((offset) => {
      const piece = inBase64(secret, offset)
      return [piece, piece.replaceAll('+', '-').replaceAll('/', '_')].filter(({ length }) => length >= shortestPiece)
    }),
  ]
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length)
}

/** The characters of base64 that the secret alone decides, when it begins so many bytes after a border. */
function inBase64(secret: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
  const whole = bytes.length - (bytes.length % 3)
  const text = bytes.subarray(0, whole).toString('base64')
  // A character stands for six bits: those that share bits with what stands before are not ours alone.
  return text.slice(Math.ceil((offset * 8) / 6))
}
