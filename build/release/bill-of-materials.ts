/** The part of CycloneDX that is read here. */
export type BillOfMaterials = {
  bomFormat: string
  components: {
    name: string
    version: string
    licenses?: { license?: { id?: string; name?: string }; expression?: string }[]
  }[]
}

/** Licences that ask for nothing but their own text. Another one is for a person to read. */
const permissive = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
])

/**
 * Every package with its version and licence, one a line.
 * @throws {Error} naming the packages whose licence is missing or not known here.
 */
export function licenceList({ components }: BillOfMaterials): string {
  const packages = components
    .map(({ name, version, licenses = [] }) => ({
      name: `${name} ${version}`,
      licence: licenses.map(({ license, expression }) => license?.id ?? license?.name ?? expression ?? '').join(' '),
    }))
    .toSorted((a, b) => a.name.localeCompare(b.name))
  const strange = packages.filter(({ licence }) => !permissive.has(licence))
  if (strange.length > 0) {
    const named = strange.map(({ name, licence }) => `${name}: ${licence || 'none'}`).join('; ')
    throw new Error(`These licences have to be read first: ${named}`)
  }
  return `${packages.map(({ name, licence }) => `${name}  ${licence}`).join('\n')}\n`
}
