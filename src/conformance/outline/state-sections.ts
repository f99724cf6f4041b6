import { open, row, section, text } from './entry.ts'

/** Specification: States and transitions. */
export const stateSections = [
  section('Task statuses', [
    row('states/pending', 'Pending: where a request begins, not terminal'),
    row('states/scheduled', 'Scheduled: not terminal'),
    row('states/in-progress', 'InProgress: not terminal'),
    row('states/success', 'Success: terminal'),
    row('states/partial-success', 'PartialSuccess: terminal'),
    row('states/error', 'Error: terminal'),
    row('states/cancelled', 'Cancelled: terminal'),
    row('moves/creation', 'a submission begins as Pending, which fires no webhook'),
    row('moves/cancel', 'cancelling before processing gives Cancelled, and its event'),
    row('moves/re-queue', 'a re-queue enters the same in-flight status again; its event can fire again'),
    open('moves/open-others', 'open: the other moves between statuses'),
    text('states/terminal', 'a terminal status does not say that every item succeeded'),
  ]),
  section('Application statuses', [
    open('application/open-statuses', 'open: status names besides AwaitingApplicationReview'),
    open('application/open-moves', 'open: the moves between application statuses'),
    text('application/events', 'every change of status or answers fires, wherever it was made'),
  ]),
] as const
