let zone = 'UTC'

/** The time zone of the schedule, in which every moment is shown. */
export function showIn(timeZone: string): void {
  zone = timeZone
}
export function shownZone(): string {
  return zone
}

/** A moment as people of the service's time zone write it: 2026-11-23 07:01:12. */
export function momentWords(moment: string | Date | null | undefined): string {
  if (moment === null || moment === undefined) return ''
  const parts = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  return parts.format(new Date(moment))
}

export function durationWords(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return ''
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function ageWords(since: Date | string, now: Date): string {
  const ms = Math.max(0, now.getTime() - new Date(since).getTime())
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`
  if (ms < 172_800_000) return `${Math.floor(ms / 3_600_000)} h`
  return `${Math.floor(ms / 86_400_000)} days`
}

/** A count, grouped as the verbs group it. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`
}

export function bytesWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

export function periodWords(year: number | string, month: number | string | null | undefined): string {
  return month === null || month === undefined ? String(year) : `${year}-${String(month).padStart(2, '0')}`
}

/** What is added to a run that was for a destination which is not in use. */
export function forWords(destination: string | null): string {
  return destination === null ? '' : `, for ${destination}`
}

/** The verdict of a run in a word and a sign, so that nobody has to tell colours apart. */
export function verdictOf(state: string, verdict: string | null): { tone: string; sign: string; word: string } {
  if (state === 'running') return { tone: 'running', sign: '▸', word: 'running' }
  if (state === 'failed' || verdict === 'failed') return { tone: 'failed', sign: '✕', word: 'failed' }
  if (verdict === 'partial') return { tone: 'needs', sign: '!', word: 'partial' }
  if (verdict === 'succeeded') return { tone: 'well', sign: '✓', word: 'succeeded' }
  return { tone: 'none', sign: '·', word: state }
}
