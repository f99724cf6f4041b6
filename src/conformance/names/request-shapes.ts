import type { BulkRequest } from '../../exchange/contract.ts'
import { type Shape, shape } from './shape.ts'

const answer = shape('frameworkAnswers', 'text? number? boolean? dateIso? dateRangeFrom? dateRangeTo? list?')

const period = shape('frameworkAnswers', 'periodType year month? answers? omissions?', {
  inside: {
    answers: shape('frameworkAnswers', 'dataPointId answer unitId?', { inside: { answer } }),
    omissions: shape('frameworkAnswers', 'questionId'),
  },
})

const identifiedBy = shape('frameworkAnswers', 'customProperty? companyId?', {
  inside: { customProperty: shape('frameworkAnswers', 'customPropertyId value') },
})

const fedCalculator = shape('calculators', 'period inputs', {
  inside: { period: shape('calculators', 'year month?'), inputs: shape('calculators', 'fieldTypeId value') },
})

const fedCompany = 'identifier automaticYearlyCalculation? automaticPublishing? calculators'
const mappedCompany = 'id name? street? coordinates? countryCode? airportCode? hotelCode? bookingId?'

/** What the suite sends: where each name of a request's body stands. */
export const requestShapes: Readonly<Partial<Record<BulkRequest, Shape>>> = {
  companyMappings: shape('companyMappings', 'customIdentifierId companies', {
    inside: {
      companies: shape('companyMappings', mappedCompany, {
        inside: { coordinates: shape('companyMappings', 'latitude longitude') },
      }),
    },
  }),
  frameworkAnswersUpsert: shape('frameworkAnswers', 'frameworkId? companies', {
    inside: {
      companies: shape('frameworkAnswers', 'identifiedBy periods', { inside: { identifiedBy, periods: period } }),
    },
  }),
  calculatorsUpsert: shape('calculators', 'groupId customIdentifierId companies', {
    inside: { companies: shape('calculators', fedCompany, { inside: { calculators: fedCalculator } }) },
  }),
  companiesUpsert: shape('companies', 'customIdentifierId companies', {
    inside: {
      companies: shape('companies', 'identifier customProperties', {
        inside: { customProperties: shape('companies', 'propertyId value') },
      }),
    },
  }),
  standardHoldersUpsert: shape('standardHolders', 'customIdentifierId holders', {
    inside: { holders: shape('standardHolders', 'identifier standardId level? startDate? expiryDate?') },
  }),
  calculatorsSearch: shape('calculatorsSearch', 'customPropertyIds? calculatorTypeIds?'),
  companiesSearch: shape('companiesSearch', 'customPropertyIds?'),
  standardHoldersSearch: shape('standardHoldersSearch', 'standardIds?'),
  frameworkAnswersSearch: shape('frameworkAnswersSearch', 'frameworkIds? customPropertyIds?'),
}
