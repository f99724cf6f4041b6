/**
 * Whether a text holds a secret: as it is, escaped by JSON once or twice, percent-encoded, or in base64. It undoes what
 * a writer may have done, and knows nothing of the forms that the program looks for.
 */
export function holdsSecret(text: string, secret: string): boolean {
  const readings = [text, unescaped(text), unescaped(unescaped(text))]
  return readings.some((reading) => {
    if (reading.includes(secret) || percentDecoded(reading).includes(secret)) return true
    const words = reading.match(/[A-Za-z0-9+/_-]{8,}={0,2}/g) ?? []
    return words.some((word) => {
      const bytes = Buffer.from(word, 'base64')
      return [bytes, Buffer.from(word, 'base64url')].some((decoded) => decoded.toString('utf8').includes(secret))
    })
  })
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(u[0-9a-f]{4}|.)/gi, (whole) => {
    try {
      return JSON.parse(`"${whole}"`) as string
    } catch {
      return whole.slice(1)
    }
  })
}

function percentDecoded(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replaceAll(/(%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'))
}
