import { expect, test } from 'vitest'
import { addressProblem } from '../../src/config/database-address.ts'

test.each([
  'postgres://ferry@db.example/own',
  'postgresql://ferry:hunter%2F22@db.example:5432/own?sslmode=require',
  'postgres://ferry:a:b@db.example/own',
  'postgres://db.example/own?user=ferry@tenant&password=hunter22',
  'postgres://db.example?application_name=a@b',
  'postgres://[::1]:5432/own',
  'postgres:///own?host=/run/postgresql',
  'socket:/run/postgresql?db=own',
  'file:///data/ho@tels%23.db',
  'embedded:partner_demo',
])('the configuration takes the address %s', (text) => {
  expect(addressProblem(text, 'postgres')).toBeNull()
})

test.each([
  ['db.example/own', 'no scheme'],
  ['ferry:hunter22@db.example:5432/own', 'no scheme'],
  ['//ferry:hunter22@db.example/own', 'no scheme'],
  ['host=db.example password=hunter22', 'no scheme'],
  ['host=db.example password=hunter22://x', 'no scheme'],
])('the configuration says of %s that it has no scheme, and what to write', (text, said) => {
  const problem = addressProblem(text, 'postgres')
  expect(problem).toContain(said)
  expect(problem).toContain('postgres://user:password@host:5432/database')
  expect(problem).not.toContain('hunter22')
})

test.each([
  ['postgres://ferry:hunter@22@db.example/own', 'an @'],
  ['postgres://ferry:hunter/22@db.example/own', 'a /'],
  ['postgres://ferry:4711/hunter@db.example/own', 'a /'],
  ['postgres://ferry:hunter?22@db.example/own', 'a ?'],
  ['postgres://ferry:4711?hunter@db.example/own', 'a ?'],
  ['postgres://ferry:4711?hun=ter@db.example/own', 'a ?'],
  ['sqlserver://ferry:p@4711?hunter=b@db.example/own', 'a ?'],
  ['postgres://ferry:4711?user=a&hunter@db.example/own', 'a ?'],
  ['postgres://ferry:hunter#22@db.example/own', 'a #'],
  ['mysql://ferry:4711#hunter@db.example/own', 'a #'],
  ['postgres://ferry:hunter%22%@db.example/own', 'a %'],
  ['postgres://fe@rry:hunter/22@db.example/own', 'a /'],
])('names in %s what is not percent-encoded, how to write it, and nothing of the password', (text, character) => {
  const problem = addressProblem(text, 'postgres')
  expect(problem).toMatch(/@ as %40, \/ as %2F, \? as %3F, # as %23 and % as %25/)
  expect(problem).toContain(`holds ${character} `)
  expect(problem).not.toMatch(/hunter|4711|22/)
})

test('the configuration says of an address that is none for another reason how one looks', () => {
  expect(addressProblem('postgres://db.example:port/own', 'postgres')).toMatch(/^is no URL; it looks like postgres:/)
})
