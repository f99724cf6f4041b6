/** A task of an earlier night, as polls saw it: from the answer to its POST until it was seen to have ended. */
export type PastTask = { kind: string; rows: number; seconds: number }

/** What tasks of a kind have taken. */
type Pace = { baseSeconds: number; secondsPerRow: number; tasks: number }

/** A request of the rehearsed night. */
export type RehearsedRequest = { kind: string; rows: number }

/** How long the service would take over a rehearsed night, in seconds. */
export type NightForecast = {
  /** If the requests of a wave are worked on side by side, and if one after the other. */
  sideBySide: number
  oneByOne: number
  /** Requests of kinds of which no task is known; they count for nothing above. */
  unknownKinds: string[]
  /** How many earlier tasks this is learned from. */
  tasks: number
}

/** Fewer say nothing of how the time grows with the rows. */
const fewestForSlope = 8

/** How long tasks of each kind take, by least squares over their rows; where that makes no sense, the median. Pure. */
function pacesOf(past: readonly PastTask[]): Map<string, Pace> {
  const byKind = Map.groupBy(past, ({ kind }) => kind)
  return new Map([...byKind].map(([kind, tasks]) => [kind, paceOf(tasks)]))
}

function paceOf(tasks: readonly PastTask[]): Pace {
  const count = tasks.length
  const mean = (of: (task: PastTask) => number) => tasks.reduce((sum, task) => sum + of(task), 0) / count
  const [rows, seconds] = [mean((task) => task.rows), mean((task) => task.seconds)]
  const spread = tasks.reduce((sum, task) => sum + (task.rows - rows) ** 2, 0)
  const joint = tasks.reduce((sum, task) => sum + (task.rows - rows) * (task.seconds - seconds), 0)
  const slope = spread === 0 || count < fewestForSlope ? 0 : joint / spread
  const base = seconds - slope * rows
  if (slope <= 0 || base < 0) {
    const ordered = tasks.map((task) => task.seconds).toSorted((one, other) => one - other)
    return { baseSeconds: ordered[Math.floor(count / 2)] ?? 0, secondsPerRow: 0, tasks: count }
  }
  return { baseSeconds: base, secondsPerRow: slope, tasks: count }
}

/**
 * How long the service would take over a night, learned from what it took in earlier ones. Pure.
 * @param waves requests that wait for each other's ends, wave after wave; searches are the last of them.
 */
export function forecastNight(
  waves: readonly (readonly RehearsedRequest[])[],
  past: readonly PastTask[],
): NightForecast {
  const paces = pacesOf(past)
  const secondsOf = ({ kind, rows }: RehearsedRequest) => {
    const pace = paces.get(kind)
    return pace === undefined ? 0 : pace.baseSeconds + pace.secondsPerRow * rows
  }
  const kinds = [...new Set(waves.flat().map(({ kind }) => kind))]
  return {
    sideBySide: waves.reduce((sum, wave) => sum + Math.max(0, ...wave.map(secondsOf)), 0),
    oneByOne: waves.flat().reduce((sum, request) => sum + secondsOf(request), 0),
    unknownKinds: kinds.filter((kind) => !paces.has(kind)),
    tasks: kinds.reduce((sum, kind) => sum + (paces.get(kind)?.tasks ?? 0), 0),
  }
}
