import type { BulkRequest, Contract } from '../../exchange/contract.ts'

type Message = keyof Contract['names']

/**
 * Where names of one message stand in a document: members of an object, those inside its members, and values that are
 * names themselves. The keys are the contract's own, so that a document is walked by whatever the contract spells.
 */
export type Shape = {
  message: Message
  fields: readonly string[]
  /** Those of the fields that may be absent; of the others, every document has each. */
  optional: readonly string[]
  inside: Readonly<Record<string, Shape>>
  /** Values of a field, by the contract's key of the field: keys of the same message. */
  values: Readonly<Record<string, readonly string[]>>
}

/** A shape from the keys of its fields, parted by spaces; a question mark follows those that may be absent. */
export function shape(message: Message, fields: string, more: Partial<Pick<Shape, 'inside' | 'values'>> = {}): Shape {
  const words = fields.split(' ')
  const bare = (word: string) => word.replace(/\?$/, '')
  const optional = words.filter((word) => word.endsWith('?')).map(bare)
  return { message, fields: words.map(bare), optional, inside: more.inside ?? {}, values: more.values ?? {} }
}

const rowErrors = shape(
  'rowError',
  'companyId? identifiedByValue? dataPointId? questionId? periodType? year? month? reason message?',
)

const task = shape('task', 'correlationId status requestType taskKind createdAt apiKeyId? pageUrls? file? error?', {
  inside: {
    pageUrls: shape('task', 'pageUrl'),
    file: shape('task', 'fileUrl'),
    error: shape('task', 'generalErrorMessages? rowErrors?', { inside: { rowErrors } }),
  },
})

const named = (message: Message) => shape(message, 'id name')

/** One level of a framework's tree. */
const level = (field: string, inner: Shape) => shape('frameworks', `id title ${field}`, { inside: { [field]: inner } })

const dataPoint = shape('frameworks', 'id title valueType reportingPeriodType unitTypes? options?', {
  inside: { unitTypes: shape('frameworks', 'id units'), options: shape('frameworks', 'id title') },
})

const calculator = shape('calculatorsPage', 'id typeId title period inputs? outputs?', {
  inside: { period: shape('calculatorsPage', 'year month?') },
})

const period = shape('frameworkAnswersPage', 'periodType year month? frameworkIds? answers? omissions?', {
  inside: {
    answers: shape('frameworkAnswersPage', 'dataPointId answer unitId? changedAt?'),
    omissions: shape('frameworkAnswersPage', 'questionId changedAt?'),
  },
})

/** What the service sends, by what the suite calls it. */
export const answerShapes = {
  error: shape('error', 'errorCode message'),
  task,
  submitted: shape('submitted', 'correlationId'),
  companyMappingsResult: shape('companyMappingsResult', 'companies', {
    inside: {
      companies: shape('companyMappingsResult', 'id status companyId? reason?', {
        values: { status: ['mapped', 'notFound'] },
      }),
    },
  }),
  calculatorsResult: shape('calculatorsResult', 'companies', {
    inside: {
      companies: shape('calculatorsResult', 'identifier companyId? status errors?', {
        values: { status: ['success', 'failed'] },
        inside: { errors: shape('calculatorsResult', 'fieldTypeId? reason') },
      }),
    },
  }),
  calculatorsPage: shape('calculatorsPage', 'customProperties? calculatorVariables? companies', {
    inside: {
      customProperties: named('calculatorsPage'),
      calculatorVariables: named('calculatorsPage'),
      companies: shape('calculatorsPage', 'id name fields? calculators', { inside: { calculators: calculator } }),
    },
  }),
  companiesPage: shape('companiesPage', 'customProperties? companies', {
    inside: {
      customProperties: named('companiesPage'),
      companies: shape(
        'companiesPage',
        'id name street? coordinates? countryCode? hotelCode? bookingId? fields? changedAt?',
        {
          inside: { coordinates: shape('companiesPage', 'latitude longitude') },
        },
      ),
    },
  }),
  standardsPage: shape('standardsPage', 'standards', {
    inside: { standards: shape('standardsPage', 'id title levels?') },
  }),
  standardHoldersPage: shape('standardHoldersPage', 'holders', {
    inside: { holders: shape('standardHoldersPage', 'companyId standardId level? startDate? expiryDate? changedAt?') },
  }),
  frameworkAnswersPage: shape('frameworkAnswersPage', 'customProperties? companies', {
    inside: {
      customProperties: named('frameworkAnswersPage'),
      companies: shape('frameworkAnswersPage', 'id name fields? periods?', { inside: { periods: period } }),
    },
  }),
  latestFile: shape('latestFile', 'pageUrls'),
  application: shape('application', 'id status standardId companyId createdAt', {
    values: { status: ['inPreparation', 'awaitingApplicationReview', 'approved', 'rejected'] },
  }),
  applicationAnswers: shape('application', 'answers', {
    inside: { answers: shape('application', 'dataPointId answer') },
  }),
  unitTypes: shape('unitTypes', 'id name units', { inside: { units: shape('unitTypes', 'id name abbreviation') } }),
  groups: named('groups'),
  customProperties: shape('customProperties', 'id name type isIdentifier isOwnedByInvokingCompany ownerName?'),
  frameworks: shape('frameworks', 'id title'),
  framework: level('topics', level('subtopics', level('clusters', level('questions', level('dataPoints', dataPoint))))),
} as const
export type AnswerShape = keyof typeof answerShapes

const answer = shape('frameworkAnswers', 'text? number? boolean? dateIso? dateRangeFrom? dateRangeTo? list?')

const sentPeriod = shape('frameworkAnswers', 'periodType year month? answers? omissions?', {
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
      companies: shape('frameworkAnswers', 'identifiedBy periods', { inside: { identifiedBy, periods: sentPeriod } }),
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
