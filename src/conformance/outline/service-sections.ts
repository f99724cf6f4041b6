import { bullet, item, row, section, text } from './entry.ts'

/** Specification: the introduction and What the service does. */
export const serviceSections = [
  section('Introduction', [text('introduction/paths', 'every path stands below the base address, under its version')]),
  section('What the service does', [
    item('service/queued', 'bulk endpoints queue the request and answer at once with a correlation id'),
    item('service/immediate', 'task and reference endpoints answer directly, without a task'),
    item('service/workflow', 'one workflow: submit, poll the task, read its result'),
    item('service/submit', 'submitting to a bulk endpoint gives a correlation id'),
    item('service/poll', 'one task endpoint serves v1 and v2 requests alike, until a terminal status'),
    item('service/result', 'the result is read from the finished task'),
    bullet('service/result-search', 'a finished search lists page addresses'),
    bullet('service/result-file', 'calculator upsert and mappings end with one file that is the whole result'),
    bullet('service/result-none', 'other imports have no file; the task tells status and failed rows'),
    item('service/push', 'webhooks can tell of status changes in place of polling'),
    item('service/areas', 'five functional areas are there'),
    bullet('service/area-mapping', "a partner's properties are mapped onto companies"),
    bullet('service/area-imports', 'certifications, answers, calculator inputs and property values are imported'),
    bullet('service/area-searches', 'companies, standards, answers and calculators are searched and downloaded'),
    bullet('service/area-lookups', 'frameworks, groups, unit types and identifiers are looked up'),
    bullet('service/area-certifiers', 'certifiers are told of applications they own'),
    row('processing-rules/1', 'requests of one key are picked up in the order sent'),
    row('processing-rules/2', 'requests run in parallel and may end in another order'),
    row('processing-rules/3', 'client: what depends on a request is sent after that one is terminal'),
    row('processing-rules/4', 'no hard size limit; small and larger requests are both taken'),
    row('processing-rules/5', 'terminal means processed: single items can have failed'),
    row('processing-rules/6', 'outcomes per item are in files or error rows; a full report exists per request'),
    row('processing-rules/7', 'client: polls come at an interval; more data takes longer'),
  ]),
] as const
