import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Visit } from './watched-browser.ts'

const schemes = ['light', 'dark'] as const
const widths = [360, 768, 1280, 2560]
/** Widths of which pictures are kept. */
const pictured = [360, 1280, 2560]
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/**
 * Tests of every page of a world that it is accessible, in light and dark, and fits every width; each leaves pictures.
 * @param paths the addresses of the pages by what they show.
 */
export function examinePages(
  world: string,
  paths: Readonly<Record<string, string>>,
  given: () => { visit: Visit; shots: string },
): void {
  const named = Object.entries(paths).map(([name, path]) => ({ world, name, path }))

  it.each(named)('in the $world world, axe-core finds nothing on $name, in light and dark', async ({ path }) => {
    const { page, open, settled } = given().visit
    await open(path)
    await settled()
    // By the protocol, not as a script of the page: the policy would refuse that.
    await page.evaluate(await readFile(axe, 'utf8'))
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
        `axe.run({ runOnly: ${JSON.stringify(tags)} })`,
      )
      expect(violations.map(({ id, nodes }) => `${colorScheme}: ${id}: ${nodes[0]?.html}`)).toEqual([])
    }
    await page.emulateMedia({ colorScheme: 'light' })
  })

  it.each(named)(
    'in the $world world, nothing is wider than the window on $name, at any width',
    async ({ name, path }) => {
      const { visit, shots } = given()
      const { page, open, settled } = visit
      await open(path)
      await settled()
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 })
        // A plot takes its new width a moment later.
        const over = () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
        await expect.poll(over, { message: `at ${width}` }).toBeLessThanOrEqual(0)
        for (const colorScheme of pictured.includes(width) ? schemes : []) {
          await page.emulateMedia({ colorScheme })
          const shot = `${name.replaceAll(' ', '-')}-${width}-${colorScheme}.png`
          await page.screenshot({ path: join(shots, shot), fullPage: true })
        }
      }
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.emulateMedia({ colorScheme: 'light' })
    },
  )
}
