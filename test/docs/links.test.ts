import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { existsInProject, markdownPages } from './pages.ts'

const pages = markdownPages()

test('every relative link of a page leads to a file, and every anchor to a heading', () => {
  const broken = pages.flatMap(({ path, text }) =>
    linksOf(text)
      .filter((link) => !leadsSomewhere(path, link))
      .map((link) => `${path}: ${link}`),
  )
  expect(broken).toEqual([])
})

test('the check sees links that lead nowhere', () => {
  expect(linksOf('[a](b.md) and [c](https://d) and ```\n[no](link)\n```')).toEqual(['b.md'])
  expect(leadsSomewhere('README.md', 'docs/no-such-page.md')).toBe(false)
  expect(leadsSomewhere('README.md', 'docs/glossary.md#no-such-heading')).toBe(false)
  expect(leadsSomewhere('docs/runbook.md', '../README.md#limits-of-this-version')).toBe(true)
})

/** Links that stay in the project; those to other sites need a network to judge. */
function linksOf(text: string): string[] {
  const prose = text.replaceAll(/```[\s\S]*?```/g, '').replaceAll(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)]
    .map((match) => match[1] ?? match[2] ?? '')
    .filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const path = file === '' ? from : normalize(join(dirname(from), file))
  if (anchor === undefined) return existsInProject(path)
  const page = pages.find((each) => each.path === path)
  return page !== undefined && anchorsOf(page.text).includes(anchor)
}

/** Anchors as code hosts make them of headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
