/** What the service answers, as far as the tests read it. */
export type ErrorBody = { errorCode: string; message: string }
export type RowError = {
  companyId: string | null
  identifiedByValue: string | null
  dataPointId?: string
  questionId?: string
  propertyId?: string
  standardId?: string
  periodType?: string
  year?: number
  month?: string
  reason: string
  message: string
}
export type Task = {
  correlationId: string
  status: string
  requestType: string | null
  taskKind: string
  createdAt: string
  pageUrls?: string[]
  file?: { url: string }
  error?: { generalErrorMessages: string[]; rowErrors: RowError[] }
}
export type MappingFile = { companies: { id: string; status: string; companyId?: string; reason?: string }[] }
export type CalculatorFile = {
  companies: {
    identifier: string
    companyId?: string
    status: string
    errors?: { fieldTypeId?: string; reason: string }[]
  }[]
}
export type PageCalculator = {
  id: string
  typeId: string
  title: string
  period: { year: number; month?: string }
  inputs?: Record<string, string>
  outputs?: Record<string, string>
}
export type Named = { id: string; name: string }
export type Page = {
  customProperties?: Named[]
  calculatorVariables?: Named[]
  companies: { id: string; name: string; fields?: Record<string, string[]>; calculators: PageCalculator[] }[]
}
export type UnitType = Named & { units: (Named & { abbreviation: string })[] }
export type CustomProperty = Named & { isIdentifier: boolean; isOwnedByInvokingCompany: boolean }
type Titled = { id: string; title: string }
export type Framework = Titled & {
  topics: {
    subtopics: {
      clusters: { questions: (Titled & { dataPoints: (Titled & { valueType: string; options?: Titled[] })[] })[] }[]
    }[]
  }[]
}
