import { uuidFrom } from '../uuid-from.ts'

type Unit = { id: string; name: string; abbreviation: string }
export type UnitType = { id: string; name: string; units: readonly Unit[] }

function unitType(name: string, ...units: [name: string, abbreviation: string][]): UnitType {
  return {
    id: uuidFrom(`unit type ${name}`),
    name,
    units: units.map(([unit, abbreviation]) => ({ id: uuidFrom(`unit ${unit}`), name: unit, abbreviation })),
  }
}

export const energy = unitType('Energy', ['Kilowatt hour', 'kWh'], ['Megawatt hour', 'MWh'])
export const water = unitType('Water', ['Cubic metre', 'm³'], ['Litre', 'l'])
export const mass = unitType('Mass', ['Kilogram', 'kg'], ['Tonne', 't'])
export const area = unitType('Area', ['Square metre', 'm²'])
export const share = unitType('Share', ['Per cent', '%'])
export const unitTypes: readonly UnitType[] = [energy, water, mass, area, share]
