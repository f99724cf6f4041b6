import type { Contract } from '../exchange/contract.ts'
import type { WorldSource } from '../world/world-file.ts'
import type { ApiKey } from './catalogue/accounts.ts'
import type { SandboxClock } from './clock.ts'
import type { DurationSettings } from './durations.ts'
import type { SandboxLogger } from './logger.ts'
import type { TargetLookup } from './webhooks/judge-target.ts'

type WorldOptions = {
  /** A Postgres database, in whose schema `sandbox` everything is kept. One running sandbox per database. */
  databaseUrl: string
  /** An integer that decides which hotels there are and how long tasks take. */
  seed: number
  /** The service knows the hotels 1 to this number, but for those that it does not know on purpose. */
  companies: number
  /** Takes the place of the made-up world: nothing is made up then, and `companies` counts for nothing. */
  world?: WorldSource
  /** Every company has thirteen calculators, of the last full year, from the start. */
  calculators?: boolean
  /** Told how far the making of calculators has got, in hotels. */
  onSeeding?: (done: number, of: number) => void
  /** Breaks off a start that has long to do; the next one goes on from there. */
  signal?: AbortSignal
}

type AddressOptions = {
  host?: string
  /** 0: any free port. */
  port: number
  /** Of the origin that result files have to themselves. Default 0: any free port. */
  filesPort?: number
  /** How others reach the API and the files, where that is not the address listened on: a proxy, a container. */
  publicUrl?: string
  publicFilesUrl?: string
  /** How long the address of a result file is good for, in milliseconds of the sandbox's clock. Default: an hour. */
  fileUrlLifetimeMs?: number
}

type BehaviourOptions = {
  /** API keys that act besides those of the world. */
  apiKeys?: readonly ApiKey[]
  durations?: DurationSettings
  /** Tasks processed at once. */
  workers?: number
  /** Companies on a page of a search. */
  pageSize?: number
  /** Ended tasks, result files and lines of the request log are removed after so many days of the sandbox's clock. */
  retentionDays?: number
  /** How many times as fast as real time the sandbox's time runs; 1 or more. */
  timeWarp?: number
  /** Takes the place of the sandbox's own clock. */
  clock?: SandboxClock
  /** Trouble from the start: names of profiles, each with the share of occasions that it strikes, above 0 up to 1. */
  chaos?: ReadonlyMap<string, number>
  /** Webhooks may lead to http and to private addresses. For receivers on the same machine. */
  allowInsecureWebhooks?: boolean
  /** Between two dispatches of webhooks, in milliseconds of the sandbox's clock. Default: a minute. */
  webhookDispatchMs?: number
  /** Takes the place of the system's resolver for the hosts of webhooks. */
  webhookLookup?: TargetLookup
}

/** Everything that a sandbox can be started with; what is left out has a default. */
export type SandboxOptions = WorldOptions &
  AddressOptions &
  BehaviourOptions & { contract: Contract; logger?: SandboxLogger }
