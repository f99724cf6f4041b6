import type { FastifyInstance } from 'fastify'
import { chromium } from 'playwright-core'
import { type Asked, consolePages } from './console-calls.ts'

/** How soon a page showed anything, and all of its data, once for each round. Milliseconds since it was asked for. */
type Painted = { page: string; first: number[]; data: number[] }

/** Opens every page of the console some times, each time in a browser without any of its files, signed in. */
export async function paintPages(
  server: FastifyInstance,
  { token, asked, rounds }: { token: string; asked: Asked; rounds: number },
): Promise<Painted[]> {
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    const painted: Painted[] = []
    for (const [page, path] of Object.entries(consolePages(asked))) {
      const times: Painted = { page, first: [], data: [] }
      for (let round = 0; round < rounds; round++) {
        const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
        const headers = { 'x-nightferry-console': '1', origin: url }
        await context.request.post(`${url}/console/session`, { headers, data: { token } })
        const opened = await context.newPage()
        await opened.goto(`${url}/console/${path}`)
        await opened.locator('[data-age]').filter({ hasText: 'as of' }).waitFor()
        await opened.locator('main', { hasText: /Reading …|is computing this/ }).waitFor({ state: 'detached' })
        const [first, data] = await opened.evaluate<[number, number]>(
          `[performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.now()]`,
        )
        times.first.push(first)
        times.data.push(data)
        await context.close()
      }
      painted.push(times)
    }
    return painted
  } finally {
    await browser.close()
  }
}
