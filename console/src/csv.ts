/** A value as a field of CSV (RFC 4180). A spreadsheet must not take somebody's text for a formula. */
function field(text: string): string {
  const formula = /^[=+@\t\r]/.test(text) || (text.startsWith('-') && !/^-\d+(\.\d+)?$/.test(text))
  // Where the decimal sign is a comma, a spreadsheet separates cells by semicolons, and quotation marks may not hold them.
  const within = text.replaceAll(/[;\r\n][ \t"]*(?=[=+@-])/g, "$&'")
  const safe = formula ? `'${within}` : within
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function csvOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return `\ufeff${[head, ...rows].map((row) => row.map(field).join(',')).join('\r\n')}\r\n`
}
