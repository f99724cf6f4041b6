import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { namedVariables } from '../../src/config/environment.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { requireSettings } from '../../src/config/require-settings.ts'
import { settings, streamNames } from '../../src/config/schema.ts'
import { configJsonSchema, leafPaths } from '../../src/config/setting-paths.ts'
import { ourShape } from '../../src/pipeline/streams/our-streams.ts'
import { temporaryFile } from './temporary-file.ts'

const fileOf = (name: string) => fileURLToPath(new URL(`../../config/${name}`, import.meta.url))
const text = readFileSync(fileOf('nightferry.yaml'), 'utf8')

function paths(value: unknown, path: string[] = []): string[] {
  const isSection = typeof value === 'object' && value !== null && !Array.isArray(value)
  // What is empty has the keys that a person gives it.
  if (!isSection || path[0] === 'streams' || Object.keys(value).length === 0) return [path.join('.')]
  return Object.entries(value).flatMap(([key, entry]) => paths(entry, [...path, key]))
}

test('config/nightferry.yaml holds the defaults and nothing else', () => {
  expect(loadConfig({ file: fileOf('nightferry.yaml'), environment: {} })).toEqual(settings.parse({}))
})

test('config/nightferry.yaml names every setting, in the order of the schema', () => {
  expect(paths(parse(text)).filter((path) => path !== 'streams' && path !== 'lookups')).toEqual(leafPaths())
})

test('config/nightferry.yaml says something above every section and setting', () => {
  const lines = text.split('\n')
  const bare = lines.filter((line, index) => /^ *[\w-]+:/.test(line) && !/^ *#/.test(lines[index - 1] ?? ''))
  // The section of the job stands directly under that of the jobs, which says it.
  expect(bare).toEqual(['  nightly-sync:'])
})

test('config/nightferry.yaml names the short variables of the settings that have one', () => {
  for (const variable of Object.keys(namedVariables)) expect(text).toContain(variable)
})

test('config/nightferry.yaml points editors to the schema beside it', () => {
  expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./nightferry.schema.json')
})

test('the streams in the comments of config/nightferry.yaml load once they are uncommented, with every column', () => {
  const [, commented = ''] = text.split('config/demo.yaml has the same over a database that you can look at.\n#\n')
  const example = commented
    .split('\n\n')[0]
    ?.split('\n')
    .map((line) => line.replace(/^# ?/, ''))
    .join('\n')
  const { streams } = loadConfig({ file: temporaryFile(example ?? ''), environment: {} })
  expect(Object.keys(streams)).toEqual([...streamNames])
  for (const name of streamNames) {
    const query = streams[name]?.query ?? ''
    for (const column of [...ourShape(name).columns, streams[name]?.cursor]) {
      expect(query, `${name}.${column}`).toMatch(new RegExp(`\\b${column}\\b`))
    }
  }
})

test('config/nightferry.schema.json is what the schema of the settings generates', () => {
  const onDisk: unknown = JSON.parse(readFileSync(fileOf('nightferry.schema.json'), 'utf8'))
  expect(onDisk, 'config/nightferry.schema.json is stale: npm run generate').toEqual(
    JSON.parse(JSON.stringify(configJsonSchema())),
  )
})

test('config/demo.yaml loads without any environment and lacks no setting', () => {
  const config = loadConfig({ file: fileOf('demo.yaml'), environment: {} })
  expect(requireSettings(config)).toMatchObject({ apiKey: 'demo-key', partnerUrl: 'embedded:partner_demo' })
  expect(Object.keys(config.streams)).toEqual([...streamNames])
})
