import { setTimeout as delay } from 'node:timers/promises'
import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import { isConnectionLost } from '../db/connection-lost.ts'
import type { Database } from '../db/database.ts'

import { type RunProgress, runProgress } from '../db/runs/progress.ts'
import { type Cli, printLine } from './cli.ts'
import { counted } from './show/readable.ts'

/** Milliseconds between two looks at a run that is followed: smooth for the eye, nothing for the database. */
const followIntervalMs = 150

/** How long a run is followed without the database. */
const patienceMs = 60_000

/**
 * Shows how a run gets on, with bars on a terminal and a line per change elsewhere, until it ends or is interrupted.
 */
export async function followRun(cli: Cli, db: Database, runId: number): Promise<RunProgress> {
  const display = cli.stderr.isTTY ? bars(cli) : lines(cli)
  try {
    let lastSeen = performance.now()
    for (;;) {
      const progress = await runProgress(db, runId).catch((error: unknown) => {
        // The run goes on without us, and outlives a database that restarts; so does anyone who watches it.
        if (!isConnectionLost(error) || performance.now() - lastSeen > patienceMs) throw error
        return null
      })
      if (progress !== null) {
        lastSeen = performance.now()
        display.show(progress)
        if (progress.state !== 'running') return progress
      }
      await delay(followIntervalMs, undefined, { signal: cli.signal })
    }
  } finally {
    display.end()
  }
}

type Display = { show(progress: RunProgress): void; end(): void }

function bars(cli: Cli): Display {
  const multi = new MultiBar(
    { format: '  {name} {bar} {value}/{total} {note}', hideCursor: true, stream: cli.stderr as NodeJS.WritableStream },
    Presets.shades_classic,
  )
  const known = new Map<string, SingleBar>()
  const bar = (name: string, value: number, total: number, note: string) => {
    if (total === 0) return
    const payload = { name: name.padEnd(9), note }
    const existing = known.get(name)
    if (existing === undefined) known.set(name, multi.create(total, value, payload))
    else {
      existing.setTotal(total)
      existing.update(value, payload)
    }
  }
  return {
    show: (progress) => {
      bar('read', progress.rows_read, progress.rows_read, 'rows from the partner')
      bar('sent', progress.rows_settled, progress.rows_planned, `rows in ${counted(progress.requests, 'request')}`)
      bar('loaded', progress.pages_loaded, progress.pages, 'pages')
    },
    end: () => multi.stop(),
  }
}

function lines(cli: Cli): Display {
  let last = ''
  return {
    show: (progress) => {
      const parts = [
        progress.step,
        progress.rows_read > 0 && `${counted(progress.rows_read, 'row')} read`,
        progress.requests > 0 && `${progress.requests_settled} of ${counted(progress.requests, 'request')} settled`,
        progress.pages > 0 && `${progress.pages_loaded} of ${counted(progress.pages, 'page')} loaded`,
      ]
      const line = parts.filter(Boolean).join(' · ')
      if (line !== last) printLine(cli.stderr, `  ${line}`)
      last = line
    },
    end: () => {},
  }
}
