import type { Run, RunAsked } from '../tables/run-tables.ts'

/** Whether two runs of a job are to do the same, in whatever order steps and streams were named. Pure. */
export function isAskedAlike(one: RunAsked, other: RunAsked): boolean {
  const sorted = ({ only, streams, since }: RunAsked) => [
    only === undefined ? null : [...new Set(only)].sort(),
    streams === undefined ? null : [...new Set(streams)].sort(),
    since ?? null,
  ]
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
}

/** The verb that goes on with a run, asked for as the run was: `nightferry run` refuses to join another. Pure. */
export function verbOfRun({ job, asked: { only = [], streams = [], since } }: Pick<Run, 'job' | 'asked'>): string {
  const options = [
    ...only.map((step) => ['--only', step]),
    ...streams.map((stream) => ['--stream', stream]),
    ...(since === undefined ? [] : [['--since', since]]),
  ]
  return ['nightferry run', job, ...options.flat()].map(inShell).join(' ')
}

/** A word as a shell reads it. */
function inShell(word: string, place: number): string {
  return place === 0 || /^[\w.:+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
