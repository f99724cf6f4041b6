import { isOurStream } from '../../config/schema.ts'
import { streams } from '../../pipeline/streams/our-streams.ts'
import { allWords } from '../../pipeline/streams/rules/column-words.ts'

/** What a ledger row says, in a few words. For people; the row key and the content in full are in the JSON. */
export function rowWords(stream: string, content: Readonly<Record<string, unknown>>): string {
  return isOurStream(stream) ? streams[stream].words(content) : allWords(content)
}
