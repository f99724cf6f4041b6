import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Agent, type Dispatcher } from 'undici'
import { type BackOff, defaultBackOff, retryRead } from './back-off.ts'
import { callService, type RequestBody, type ServiceCall, shownCall } from './call-service.ts'
import { createConnector, endpointUrl, type ProxyAddress, serviceAddress } from './connector.ts'
import type { BulkRequest, Contract, Endpoint } from './contract.ts'
import { AnswerFormatError, TransportError } from './errors.ts'
import type { CallGate } from './pass-gate.ts'
import { createCallQueue, NotStarted, passGate } from './pass-gate.ts'
import { type ClockSkew, newerSkew } from './read-answer.ts'
import {
  type CustomProperty,
  decodeCustomProperties,
  decodeFramework,
  decodeFrameworks,
  decodeGroups,
  decodeUnitTypes,
  type FrameworkIndex,
  type FrameworkSummary,
  type Group,
  type UnitType,
} from './reference-data.ts'
import { withoutKey } from './secret-forms.ts'
import { decodeSubmitted, submissionFailure } from './submit-outcome.ts'
import { decodeTask, decodeTasks, type Task, taskKey } from './task.ts'

export type ExchangeClientOptions = {
  /** Base address of the service; a path prefix is kept. */
  baseUrl: string
  apiKey: string
  contract: Contract
  /** Calls in progress at once. */
  concurrency: number
  /** Calls begun per second, retries included; below one is possible. With a gate, the gate keeps the pace. */
  requestsPerSecond: number
  /** Shares rate, pauses and breaker with anyone else who uses the key. */
  gate?: CallGate | undefined
  connectTimeoutMs: number
  /** From the request's last byte to the answer's headers. */
  headersTimeoutMs: number
  /** Between two parts of an answer's body. */
  bodyTimeoutMs: number
  /** Answers are kept in memory whole; result pages do not come this way. */
  maxAnswerBytes: number
  /** From an answer's headers to its last byte. */
  answerTimeoutMs?: number
  backOff?: BackOff
  /** PEM of certificate authorities to trust beside the well-known ones. */
  ca?: string | undefined
  /** Address of the HTTP proxy that leads to the service. */
  proxy?: ProxyAddress
  logger?: Pick<Logger, 'debug' | 'warn'> | undefined
  /** Ends every call, the waiting ones too. */
  signal?: AbortSignal | undefined
  /** The clock that the service's is compared with. */
  nowMs?: () => number
  /** Hears of each answer that says how far the service's clock is from ours. */
  onSkew?: ((skew: ClockSkew) => void) | undefined
  random?: () => number
  /** Waits before a retry; rejects when the signal aborts. */
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/** A call that was made: whether it was answered as promised, or the code of what went wrong. */
type MadeCall = { method: string; outcome: string; seconds: number }

export type ExchangeClient = {
  getUnitTypes(): Promise<UnitType[]>
  getFrameworks(): Promise<FrameworkSummary[]>
  getFramework(id: string): Promise<FrameworkIndex>
  getGroups(): Promise<Group[]>
  getCustomProperties(): Promise<CustomProperty[]>
  getTask(correlationId: string): Promise<Task>
  /** The newest tasks, without their results. */
  getTasks(): Promise<Task[]>
  /** Asks to cancel a task that has not started; an HttpError says that it cannot be. Never retried. */
  cancelTask(correlationId: string): Promise<void>
  /**
   * Sends a bulk request once: one that the specification names, or to the endpoint of another.
   * @param signal gives this one up, while it waits or while it is under way.
   * @throws {UncertainSubmission} when it may have been accepted.
   * @throws {TransportError} when nothing was sent: safe to send again.
   * @throws {HttpError} when the service refused it.
   */
  submit(request: BulkRequest | Endpoint, body: RequestBody, signal?: AbortSignal): Promise<{ correlationId: string }>
  /** How far the service's clock is from ours, as far as the newest calls told; null while none did. */
  skew(): ClockSkew | null
  /**
   * What the service's clock shows now: as the newest dated answer told it, carried on by the monotonic clock, so that
   * it holds although ours is set meanwhile. Too early by as long as that call took; null while no answer was dated.
   */
  serviceTime(): Date | null
  /**
   * Whether the service has answered and no answer told its time: it shows no clock to compare ours with. False while
   * it is not known, because the service was not reached.
   */
  showsNoClock(): boolean
  /** Tells the listener of every call that was made, retries one by one, when it is over. */
  onCall(listener: (made: MadeCall) => void): void
  /** Takes no further calls, gives up those that wait, lets those under way end, and closes the connections. */
  close(): Promise<void>
}

/**
 * The service's API, one method per endpoint that Nightferry uses. Specification: Endpoints, Authentication.
 *
 * Reads are retried on a broken transport, 429, 5xx and an answer that is not the promised one; whatever writes is sent
 * exactly once.
 */
export function createExchangeClient(options: ExchangeClientOptions): ExchangeClient {
  const { contract, logger, backOff = defaultBackOff, random = Math.random, wait = waitFor } = options
  const address = serviceAddress(options.baseUrl)
  const signal = options.signal ?? new AbortController().signal
  const closing = new AbortController()
  const giveUp = AbortSignal.any([signal, closing.signal])
  let skew: ClockSkew | null = null
  let serviceAheadMs: number | null = null
  let answeredUndated = false
  const settings = {
    contract,
    onSkew: (measured: ClockSkew) => {
      serviceAheadMs = settings.nowMs() + measured.lowMs - performance.now()
      const newer = newerSkew(skew, measured)
      if (newer === null || newer === skew) return
      skew = newer
      options.onSkew?.(newer)
    },
    onNoClock: () => {
      answeredUndated = true
    },
    apiKey: options.apiKey,
    maxAnswerBytes: options.maxAnswerBytes,
    answerTimeoutMs: options.answerTimeoutMs ?? 120_000,
    maxRetryAfterMs: backOff.maxRetryAfterMs,
    nowMs: options.nowMs ?? Date.now,
    signal,
  }
  const timeouts = {
    connect: createConnector(options),
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
  }
  const reads = new Agent(timeouts)
  // A kept connection can be closed by the service at the instant of the next request: harmless for a read, an
  // uncertain submission for a write. So each write has a connection of its own.
  const writes = new Agent({ ...timeouts, pipelining: 0 })
  const { gate, concurrency } = options
  const requestsPerSecond = gate === undefined ? options.requestsPerSecond : null
  const queue = createCallQueue({ concurrency, requestsPerSecond, signal: giveUp })
  const passing = { gate, waiting: () => queue.waiting(), signal: giveUp, logger }

  const listeners: ((made: MadeCall) => void)[] = []

  async function make(dispatcher: Dispatcher, call: ServiceCall): Promise<unknown> {
    const began = performance.now()
    const tell = (outcome: string) => {
      const made = { method: call.endpoint.method, outcome, seconds: (performance.now() - began) / 1000 }
      for (const listener of listeners) listener(made)
    }
    try {
      const answer = await callService(dispatcher, call, settings)
      tell('answered')
      return answer
    } catch (error) {
      const { code } = error as { code?: unknown }
      tell(typeof code === 'string' ? code : 'failed')
      throw error
    }
  }

  async function once(dispatcher: Dispatcher, call: ServiceCall): Promise<unknown> {
    try {
      return await queue.run(() => passGate(passing, call, () => make(dispatcher, call)), call.signal)
    } catch (error) {
      throw error instanceof NotStarted ? new TransportError(shownCall(call), error.message, false, error.cause) : error
    }
  }

  async function read<T>(
    name: keyof Contract['endpoints'],
    decode: (contract: Contract, json: unknown) => T,
    id?: string,
  ): Promise<T> {
    const call = callOf(name, id)
    const { url } = shownCall(call)
    const answer = async () => {
      const json = await once(reads, call)
      return decoded(call, () => decode(contract, json))
    }
    return await retryRead(answer, {
      backOff,
      random,
      wait: (ms) => wait(ms, giveUp),
      onRetry: (error, attempt, waitMs) =>
        logger?.warn({ url, attempt, wait_ms: waitMs, reason: error.message }, 'exchange_read_retried'),
    })
  }

  function callOf(called: keyof Contract['endpoints'] | Endpoint, id?: string): ServiceCall {
    const endpoint = typeof called === 'string' ? contract.endpoints[called] : called
    // The cheapest way to check credentials (specification, Authentication 5).
    return { endpoint, url: endpointUrl(address, endpoint, id), mayProbe: called === 'unitTypes' }
  }

  async function submit(
    request: BulkRequest | Endpoint,
    body: RequestBody,
    own?: AbortSignal,
  ): Promise<{ correlationId: string }> {
    const call = { ...callOf(request), body, ...(own !== undefined && { signal: own }) }
    try {
      const json = await once(writes, call)
      return decoded(call, () => decodeSubmitted(contract, json))
    } catch (error) {
      throw submissionFailure(shownCall(call), error)
    }
  }

  return {
    getUnitTypes: () => read('unitTypes', decodeUnitTypes),
    getFrameworks: () => read('frameworks', decodeFrameworks),
    getFramework: (id) => read('framework', decodeFramework, id),
    getGroups: () => read('groups', decodeGroups),
    getCustomProperties: () => read('customProperties', decodeCustomProperties),
    getTask: (correlationId) => read('task', taskNamed(correlationId, options.apiKey), correlationId),
    getTasks: () => read('tasks', decodeTasks),
    cancelTask: async (id) => {
      await once(writes, { ...callOf('cancelTask', id), answerIgnored: true })
    },
    submit,
    skew: () => skew,
    serviceTime: () => (serviceAheadMs === null ? null : new Date(serviceAheadMs + performance.now())),
    showsNoClock: () => answeredUndated && serviceAheadMs === null,
    onCall: (listener) => void listeners.push(listener),
    close: async () => {
      closing.abort(new Error('the client is closed'))
      // Waits for the calls under way.
      await Promise.all([reads.close(), writes.close()])
    },
  }
}

/**
 * A cache or a gateway that mixes answers up must not settle the wrong submission. A task is kept as it came, but for
 * our key: a service may repeat it in an error.
 */
function taskNamed(correlationId: string, apiKey: string): (contract: Contract, json: unknown) => Task {
  return (contract, json) => {
    const task = decodeTask(contract, withoutKey(json, apiKey))
    if (taskKey(task.correlationId) === taskKey(correlationId)) return task
    throw new AnswerFormatError(`asked for task ${correlationId}, answered with ${task.correlationId}`)
  }
}

function decoded<T>(call: ServiceCall, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    if (!(error instanceof AnswerFormatError)) throw error
    const { method, url } = shownCall(call)
    const { tooLong } = error
    throw new AnswerFormatError(`${method} ${url}: ${error.message}`, { cause: error, tooLong })
  }
}

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal })
}
