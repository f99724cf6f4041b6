import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ConfigError, type ConfigProblem } from '../../src/config/environment.ts'
import { type AddedStreams, loadConfig } from '../../src/config/load-config.ts'
import { requirementsOf } from '../../src/config/require-settings.ts'
import { temporaryFile } from './temporary-file.ts'

const added: AddedStreams = { certificates: { requires: ['properties'] } }
const query = 'query: select 1, cursor: updated_at'

function load(text: string, addedStreams: (contract: string | null) => AddedStreams = () => added) {
  return loadConfig({ file: temporaryFile(text), environment: {}, addedStreams })
}

function problems(text: string): readonly ConfigProblem[] {
  try {
    load(text)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  throw new Error('the configuration was accepted')
}

test('a stream that the contract adds is read, and requires what the contract says', () => {
  const config = load(`streams: { certificates: { ${query} } }`)
  expect(config.streams.certificates).toMatchObject({ capture: 'cursor', requires: ['properties'] })
  expect(requirementsOf(config)).toEqual({ certificates: ['properties'] })
})

test('a stream of ours waits for the mapping of its hotel unless the configuration says otherwise', () => {
  const mapped = load(`
    streams:
      properties: { ${query} }
      framework_answers: { ${query} }
      calculator_inputs: { ${query}, requires: [] }
      standard_holders: { ${query}, requires: [certificates] }
      certificates: { ${query} }`)
  expect(requirementsOf(mapped)).toEqual({
    properties: [],
    framework_answers: ['properties'],
    calculator_inputs: [],
    standard_holders: ['certificates'],
    certificates: ['properties'],
  })
  expect(mapped.streams.framework_answers?.requires).toEqual(['properties'])
})

test('the streams of the demo wait for the same where the file does not say for what', () => {
  const demo = readFileSync(new URL('../../config/demo.yaml', import.meta.url), 'utf8')
  const silent = demo.replaceAll(/^ +requires: .*\n/gm, '')
  expect(silent).not.toContain('requires')
  expect(requirementsOf(load(silent))).toEqual(requirementsOf(load(demo)))
})

test('a stream of ours waits for no mapping where another system maps the hotels', () => {
  expect(requirementsOf(load(`streams: { omissions: { ${query} } }`))).toEqual({ omissions: [] })
})

test('what the configuration says of a stream that the contract adds wins, also if it is nothing', () => {
  expect(load(`streams: { certificates: { ${query}, requires: [] } }`).streams.certificates?.requires).toEqual([])
})

test('one of our streams can require one that the contract adds', () => {
  const text = `streams: { standard_holders: { ${query}, requires: [certificates] } }`
  expect(load(text).streams.standard_holders?.requires).toEqual(['certificates'])
})

test('a policy can speak of rows of a stream that the contract adds, and of no stream that there is not', () => {
  const policies = (stream: string) => `push: { retries: [{ stream: ${stream}, code: x, afterMs: 0, times: 1 }] }`
  expect(load(policies('certificates')).push.retries).toMatchObject([{ stream: 'certificates' }])
  expect(problems(policies('certs'))).toEqual([
    { path: 'push.retries.0.stream', message: expect.stringContaining('standard_holders, certificates') },
  ])
})

test('every stream that is none is named with those that there are, beside whatever else is wrong', () => {
  const text = `streams: { certs: { ${query} }, 'a b': {}, certificates: { query: '', requires: [propertys, 7], cursor: x } }`
  const found = problems(text)
  expect(found.map(({ path }) => path).sort()).toEqual([
    'streams.a b',
    'streams.certificates.query',
    'streams.certificates.requires.0',
    'streams.certificates.requires.1',
    'streams.certs',
  ])
  expect(found.find(({ path }) => path === 'streams.certs')?.message).toMatch(
    /^is no stream; there are properties, .*standard_holders, certificates$/,
  )
})

test('the contract is asked for only when a name is none of ours, and by the file that the configuration names', () => {
  const asked: (string | null)[] = []
  const note = (contract: string | null) => {
    asked.push(contract)
    return added
  }
  load(`streams: { properties: { ${query} } }`, note)
  expect(asked).toEqual([])
  load(`exchange: { contract: ours.yaml }\nstreams: { certificates: { ${query} } }`, note)
  load(`streams: { certificates: { ${query} } }`, note)
  expect(asked).toEqual(['ours.yaml', null])
})

test.each(['streams: 7', 'streams: [certificates]', 'streams: { certificates: 7 }', 'streams: { certificates: null }'])(
  'what is no stream at all is refused: %s',
  (text) => {
    expect(problems(text).length).toBeGreaterThan(0)
  },
)
