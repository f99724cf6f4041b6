import { readFile, stat } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { createConnector } from '../../exchange/connector.ts'
import { readYaml, YamlError } from '../../read-yaml.ts'
import { openApiVersion } from '../evidence/description.ts'

/** A description cannot be read, or is none. */
class DescriptionError extends Error {
  readonly code = 'description_unusable'
}

/** Longer than any description of one service. Bytes. */
const mostBytes = 32 * 1024 * 1024
/** For the whole document. Milliseconds. */
const patienceMs = 30_000

/**
 * Reads an OpenAPI description in JSON or YAML, from a file or over http and https. No key is sent, and no redirect is
 * followed.
 * @param proxy that leads to https addresses.
 * @throws {DescriptionError} saying what is wrong.
 */
export async function readDescription(place: string, proxy: string | null, signal: AbortSignal): Promise<unknown> {
  const text = /^https?:\/\//i.test(place) ? await fetched(place, proxy, signal) : await fromFile(place)
  const document = parsed(place, text)
  if (openApiVersion(document) === null)
    throw new DescriptionError(`${place} is no OpenAPI description: it has no openapi or no paths`)
  return document
}

async function fromFile(path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size > mostBytes) throw tooLong(path)
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof DescriptionError) throw error
    throw new DescriptionError(`${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

async function fetched(url: string, proxy: string | null, signal: AbortSignal): Promise<string> {
  const dispatcher = new Agent({ connect: createConnector({ connectTimeoutMs: patienceMs, proxy }) })
  try {
    const whole = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
    const { statusCode, body } = await request(url, { dispatcher, signal: whole, headersTimeout: patienceMs })
    if (statusCode !== 200) {
      await body.dump()
      throw new DescriptionError(
        `${url} answered ${statusCode}. If it wants a key, save the description as a file, and name that`,
      )
    }
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > mostBytes) throw tooLong(url)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  } catch (error) {
    if (error instanceof DescriptionError || signal.aborted) throw error
    throw new DescriptionError(`${url} cannot be read: ${(error as Error).message}`, { cause: error })
  } finally {
    await dispatcher.destroy()
  }
}

function tooLong(place: string): DescriptionError {
  return new DescriptionError(`${place} is longer than ${mostBytes / 1024 ** 2} MiB, which no description is`)
}

/** JSON is YAML too, but its own parser is quicker by far. What it says quotes the text. */
function parsed(place: string, text: string): unknown {
  try {
    return /^\s*\{/.test(text) ? (JSON.parse(text) as unknown) : readYaml(text)
  } catch (error) {
    const [fault] = error instanceof YamlError ? error.message.split('\n') : []
    throw new DescriptionError(`${place} is neither JSON nor YAML${fault === undefined ? '' : `: ${fault}`}`)
  }
}
