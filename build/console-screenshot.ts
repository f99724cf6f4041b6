/**
 * Writes docs/console.png, the picture of the README: node build/console-screenshot.ts, after `npm run demo`. It starts
 * `nightferry console` over the demo's data, signs in by its link and takes the picture with the system's Chromium.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = fileURLToPath(new URL('..', import.meta.url))
const args = ['src/from-sources.cjs', 'console', '--config', 'config/demo.yaml', '--no-browser']
const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'], env: process.env })
try {
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, colorScheme: 'light' })
  await page.goto(line)
  await page.locator('[data-age]').filter({ hasText: 'as of' }).waitFor()
  await page.locator('.nights a').first().waitFor()
  await page.screenshot({ path: `${root}docs/console.png` })
  await browser.close()
} finally {
  child.kill('SIGTERM')
}
