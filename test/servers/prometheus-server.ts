import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { patience } from '../helpers/patience.ts'
import { program } from './programs.ts'

/** Labels of a stored series, and the newest value of it. */
export type Sample = { metric: Record<string, string>; value: [at: number, value: string] }

export type PrometheusServer = AsyncDisposable & {
  /** What a query answers at this moment. */
  query: (expression: string) => Promise<Sample[]>
  alerts: () => Promise<{ labels: Record<string, string>; state: string }[]>
}

/**
 * A Prometheus that reads the metrics with the settings that it has by itself, as the job `partners`, and judges by the
 * rules each second.
 * @param text the metrics, as they are served.
 */
export async function startPrometheus(text: () => Promise<string>, rules: string): Promise<PrometheusServer> {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-prometheus-'))
  const daemon = createServer((_, response) => {
    void text().then((served) => response.setHeader('content-type', 'text/plain; version=0.0.4').end(served))
  })
  await new Promise<void>((resolve) => daemon.listen(0, '127.0.0.1', () => resolve()))
  const { port } = daemon.address() as AddressInfo
  const settings = join(folder, 'prometheus.yml')
  await writeFile(
    settings,
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [rules],
      scrape_configs: [{ job_name: 'partners', static_configs: [{ targets: [`127.0.0.1:${port}`] }] }],
    }),
  )
  const server = spawn(
    program('prometheus'),
    [`--config.file=${settings}`, `--storage.tsdb.path=${join(folder, 'data')}`, '--web.listen-address=127.0.0.1:0'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const close = async () => {
    await ended(server, daemon)
    await rm(folder, { recursive: true })
  }
  try {
    const address = await listeningAt(server)
    const ask = async <T>(path: string): Promise<T> => {
      const answer = await fetch(`http://${address}/api/v1/${path}`)
      const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string }
      if (status !== 'success') throw new Error(error)
      return data
    }
    return {
      query: async (expression) =>
        (await ask<{ result: Sample[] }>(`query?query=${encodeURIComponent(expression)}`)).result,
      alerts: async () => (await ask<{ alerts: { labels: Record<string, string>; state: string }[] }>('alerts')).alerts,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The address that the log names. @throws {Error} with the log if it names none. */
async function listeningAt(server: ChildProcess): Promise<string> {
  let log = ''
  return await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`Prometheus does not listen: ${log}`)), patience.timeout)
    server.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      log += piece
      const [, address] = /msg="Listening on" address=(\S+)/.exec(log) ?? []
      if (address === undefined) return
      clearTimeout(late)
      resolve(address)
    })
    server.on('exit', () => reject(new Error(`Prometheus has ended: ${log}`)))
  })
}

async function ended(server: ChildProcess, daemon: Server): Promise<void> {
  if (server.exitCode === null) {
    const exit = new Promise((resolve) => server.once('exit', resolve))
    server.kill()
    await exit
  }
  daemon.closeAllConnections()
  await new Promise((resolve) => daemon.close(resolve))
}
