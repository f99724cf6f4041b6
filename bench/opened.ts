import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { locationOf } from '../src/embedded/initialise-data.ts'
import { type Cluster, openCluster } from '../src/embedded/open-cluster.ts'
import type { ServerSettings } from '../src/embedded/start-server.ts'

/** One Ctrl-C may come twice: from the terminal, and from npm. */
const sameMs = 1_000

const signals = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * What a benchmark has opened: folders, servers, connections. It is closed, the newest first, when the benchmark ends,
 * fails or is told to end by SIGINT or SIGTERM; a further signal ends it at once. What is opened while it closes is
 * closed as well.
 */
export class Opened implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack()
  readonly #ending = new AbortController()
  #late: Promise<unknown>[] = []
  #closing: Promise<void> | undefined

  /** @param bySignal false where the benchmark itself says what a signal ends. */
  constructor({ bySignal = true }: { bySignal?: boolean } = {}) {
    if (!bySignal) return
    const listeners = Object.entries(signals).map(([signal, code]) => ({ signal, listener: () => end(code) }))
    const forget = () => {
      for (const { signal, listener } of listeners) process.off(signal, listener)
    }
    let told = 0
    const end = (code: number) => {
      if (told === 0) {
        told = performance.now()
        void this[Symbol.asyncDispose]().finally(() => process.exit(code))
      } else if (performance.now() - told > sameMs) process.exit(code)
    }
    for (const { signal, listener } of listeners) process.on(signal, listener)
    this.#stack.defer(forget)
  }

  /** Aborts when closing begins: for processes that are children of the benchmark. */
  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** What is to be done when all is closed. */
  defer(close: () => unknown): void {
    if (this.#ending.signal.aborted) this.#late.push((async () => await close())().catch(() => {}))
    else this.#stack.defer(async () => void (await close()))
  }

  /** A temporary folder that other accounts can enter: a server that root starts runs under another one. */
  async folder(name: string): Promise<string> {
    this.#ending.signal.throwIfAborted()
    const folder = await mkdtemp(join(tmpdir(), `nightferry-${name}-`))
    this.defer(() => rm(folder, { recursive: true, force: true }))
    await chmod(folder, 0o755)
    return folder
  }

  /** A PostgreSQL of its own with its data in `folder`. */
  async server(folder: string, settings: ServerSettings = {}): Promise<Cluster> {
    this.#ending.signal.throwIfAborted()
    const opening = openCluster({ folder, settings, onNotice: () => {}, signal: this.#ending.signal })
    this.defer(async () => {
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
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #close(): Promise<void> {
    this.#ending.abort(new Error('the benchmark ends'))
    await this.#stack.disposeAsync()
    await Promise.all(this.#late)
  }
}
