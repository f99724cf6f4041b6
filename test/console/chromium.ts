import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** Where Debian's package puts it, and others do. */
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/**
 * A browser without a window. Fails where none is installed: nothing is skipped.
 * @param given further arguments of Chromium.
 */
export async function startChromium(given: readonly string[] = []): Promise<Browser> {
  const executablePath = places.find((place) => existsSync(place))
  if (executablePath === undefined) throw new Error(`No Chromium in ${places.join(', ')}: apt-get install chromium`)
  // A container has no user namespaces for the sandbox of the browser, which sees our own pages only.
  return await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...given] })
}
