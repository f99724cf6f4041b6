import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { locationOf } from '../src/embedded/data-home.ts'
import { type Cluster, openCluster } from '../src/embedded/open-cluster.ts'
import type { ServerSettings } from '../src/embedded/start-server.ts'

const signals = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * What a benchmark has opened: folders, servers, connections. It is closed, the newest first, when the benchmark ends,
 * fails or is told to end by SIGINT or SIGTERM; a second signal ends it at once.
 */
export class Opened implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack()
  #closing: Promise<void> | undefined

  /** @param bySignal false where the benchmark itself says what a signal ends. */
  constructor({ bySignal = true }: { bySignal?: boolean } = {}) {
    if (!bySignal) return
    for (const [signal, code] of Object.entries(signals)) {
      const close = () => void this[Symbol.asyncDispose]().finally(() => process.exit(code))
      process.once(signal, close)
      this.#stack.defer(() => void process.off(signal, close))
    }
  }

  /** What is to be done when all is closed. */
  defer(close: () => unknown): void {
    this.#stack.defer(async () => {
      await close()
    })
  }

  /** A temporary folder that other accounts can enter: a server that root starts runs under another one. */
  async folder(name: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), `nightferry-${name}-`))
    this.defer(() => rm(folder, { recursive: true, force: true }))
    await chmod(folder, 0o755)
    return folder
  }

  /** A PostgreSQL of its own with its data in `folder`. */
  async server(folder: string, settings: ServerSettings = {}): Promise<Cluster> {
    const closing = new AbortController()
    const opening = openCluster({ folder, settings, onNotice: () => {}, signal: closing.signal })
    this.defer(async () => {
      closing.abort(new Error('the benchmark ends'))
      const cluster = await opening.catch(() => undefined)
      await cluster?.release()
      // Started by root, the cluster can lie elsewhere.
      const elsewhere = await locationOf(folder).catch(() => undefined)
      if (elsewhere !== undefined) await rm(elsewhere, { recursive: true, force: true })
    })
    return await opening
  }

  /** Anyone who closes it again waits for the same end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#stack.disposeAsync()
    await this.#closing
  }
}
