import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { calculatorsPage } from './calculators-page.ts'
import { customFields } from './custom-fields.ts'
import { document, month, oncePer, uuid, value, year } from './document.ts'

/**
 * The documents behind the page addresses of each search. Spec gap: only the calculators' is shown, docs/spec-gaps.md.
 */
export const pages = oncePer((contract: Contract) => ({
  calculatorsSearch: calculatorsPage(contract),
  companiesSearch: companiesPage(contract),
  standardsSearch: standardsPage(contract),
  standardHoldersSearch: standardHoldersPage(contract),
  frameworkAnswersSearch: frameworkAnswersPage(contract),
}))

function companiesPage({ names: { companiesPage: names } }: Contract): z.ZodType {
  const { customProperties, fields } = customFields(names)
  const company = document(names, {
    id: uuid,
    name: z.string(),
    street: value.optional(),
    coordinates: document(names, { latitude: z.number(), longitude: z.number() }).optional(),
    countryCode: value.optional(),
    hotelCode: value.optional(),
    bookingId: value.optional(),
    changedAt: z.iso.datetime().optional().meta({ description: 'When a value of the profile last changed.' }),
    fields,
  }).meta({ id: 'CompaniesPageCompany' })
  return document(names, { customProperties, companies: z.array(company) }).meta({ id: 'CompaniesPage' })
}

function standardsPage({ names: { standardsPage: names } }: Contract): z.ZodType {
  const levels = z.array(value).min(1).optional().meta({ description: 'Absent when the standard has none.' })
  const standard = document(names, { id: uuid, title: z.string(), levels }).meta({ id: 'Standard' })
  return document(names, { standards: z.array(standard) }).meta({ id: 'StandardsPage' })
}

function standardHoldersPage({ names: { standardHoldersPage: names } }: Contract): z.ZodType {
  const holder = document(names, {
    companyId: uuid,
    standardId: uuid,
    level: value.optional(),
    startDate: z.iso.date().optional(),
    expiryDate: z.iso.date().optional(),
    changedAt: z.iso.datetime().optional(),
  }).meta({ id: 'StandardHolder' })
  return document(names, { holders: z.array(holder) }).meta({ id: 'StandardHoldersPage' })
}

function frameworkAnswersPage(contract: Contract): z.ZodType {
  const names = contract.names.frameworkAnswersPage
  const sent = contract.names.frameworkAnswers
  const { customProperties, fields } = customFields(names)
  const answer = document(names, {
    dataPointId: uuid,
    answer: z.looseObject({}).meta({ minProperties: 1, description: 'As in the upsert.' }),
    unitId: uuid.optional(),
    changedAt: z.iso.datetime().optional(),
  }).meta({ id: 'Answer' })
  const omission = document(names, { questionId: uuid, changedAt: z.iso.datetime().optional() }).meta({
    id: 'Omission',
  })
  const period = document(names, {
    periodType: z.enum([sent.yearly, sent.monthly]),
    year,
    month: month.meta({ description: 'Of a yearly period: the month with which it starts.' }),
    frameworkIds: z.array(uuid).min(1).optional().meta({ description: 'Assigned to the company for the period.' }),
    answers: z.array(answer).min(1).optional(),
    omissions: z.array(omission).min(1).optional(),
  }).meta({ id: 'AnsweredPeriod' })
  const company = document(names, { id: uuid, name: z.string(), fields, periods: z.array(period) }).meta({
    id: 'FrameworkAnswersPageCompany',
  })
  return document(names, { customProperties, companies: z.array(company) }).meta({ id: 'FrameworkAnswersPage' })
}
