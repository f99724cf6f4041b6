import type { Contract } from '../../exchange/contract.ts'

/** The contract's keys of the statuses. Spec gap: only one of the names is stated, docs/spec-gaps.md. */
export const applicationStatuses = ['inPreparation', 'awaitingApplicationReview', 'approved', 'rejected'] as const
export type ApplicationStatus = (typeof applicationStatuses)[number]

/** A company's application for a certification, owned by the certifier's profile. */
export type Application = {
  id: string
  profileId: number
  companyId: string
  standardId: string
  status: ApplicationStatus
  createdAt: Date
}

export function describeApplication(contract: Contract, application: Application): Record<string, unknown> {
  const names = contract.names.application
  return {
    [names.id]: application.id,
    [names.status]: names[application.status],
    [names.standardId]: application.standardId,
    [names.companyId]: application.companyId,
    [names.createdAt]: application.createdAt.toISOString(),
  }
}

/** The status that a name on the wire means, or undefined. */
export function statusNamed(contract: Contract, name: string): ApplicationStatus | undefined {
  return applicationStatuses.find((status) => contract.names.application[status] === name)
}
