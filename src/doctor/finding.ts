/** What is looked at, in the order in which it is told: the specification's own first (Authentication 6). */
export const groups = {
  service: 'The service, in the order of its troubleshooting',
  configuration: 'The configuration',
  partner: "The partner's database",
  database: "Nightferry's own database",
  clocks: 'Clocks',
  downloads: 'Where result files come from',
  webhooks: 'Webhooks of the service',
  notifications: 'Who is told',
  schedule: 'The schedule, and the last runs',
} as const
export type Group = keyof typeof groups

/** From harmless to what keeps a night from going well. */
export const levels = ['ok', 'advice', 'warning', 'error'] as const
export type Level = (typeof levels)[number]

/** What a check found: what is so, and what to do where something is to be done. */
export type Found = {
  level: Level
  what: string
  /** A verb, a setting or a statement; null where nothing is to be done. */
  todo: string | null
  /** Of several things that one check looks at, which: a stream, a host. */
  subject?: string
}

/** The same with what it is about. `why`: why it matters; null where all is well. */
export type Finding = {
  id: string
  group: Group
  subject: string | null
  level: Level
  what: string
  why: string | null
  todo: string | null
  /** False where the check could not be made. */
  made: boolean
}

export function ok(what: string, subject?: string): Found {
  return found('ok', what, null, subject)
}

export function advice(what: string, todo: string, subject?: string): Found {
  return found('advice', what, todo, subject)
}

export function warning(what: string, todo: string, subject?: string): Found {
  return found('warning', what, todo, subject)
}

export function error(what: string, todo: string, subject?: string): Found {
  return found('error', what, todo, subject)
}

function found(level: Level, what: string, todo: string | null, subject?: string): Found {
  return { level, what, todo, ...(subject !== undefined && { subject }) }
}

/** The worst of some levels; `ok` of none. Pure. */
export function worst(of: readonly { level: Level }[]): Level {
  return levels.findLast((level) => of.some((one) => one.level === level)) ?? 'ok'
}
