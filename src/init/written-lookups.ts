/** How codes of the partner become ids, for whom the tables hold no ids of the service. */
export const lookupLines = [
  '# If a table holds codes of your own where a stream wants an id of the service, list them in a CSV file beside this one,',
  '# and name it here: docs/streams.md tells how. The stream then says, for instance, lookups: { field_type_id: meters }.',
  '# lookups: { meters: { file: meters.csv, code: meter_code, id: field_type_id } }',
]

/** What to do about a column for an id of the service that was not found, a line each. Pure. */
export function lookupRemarks(missing: readonly string[]): string[] {
  return missing
    .filter((name) => name.endsWith('_id') && name !== 'partner_id')
    .map((name) => `# If you have codes of your own for ${name}, select these, and name a lookup: see lookups above.`)
}
