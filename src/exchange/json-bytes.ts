/**
 * The bytes of JSON's marks in UTF-8, for readers that look at bytes and not at text: a byte below 0x80 is always a
 * character of its own. A reader takes those that it needs into constants of its own, at the top of its file: those of
 * another file are looked up at each use, and then a scan takes a third more time.
 */
export const jsonByte = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  backslash: 0x5c,
  openBracket: 0x5b,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
  space: 0x20,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  tab: 0x09,
} as const
