import { type Message, type Shape, shape } from './shape.ts'

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
        'id name street coordinates countryCode hotelCode? bookingId? fields? changedAt?',
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
