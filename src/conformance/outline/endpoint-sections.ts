import { bullet, item, open, row, section, text } from './entry.ts'

/** Specification: Endpoints and Authentication. */
export const endpointSections = [
  section('Endpoints', [
    text('endpoints/conventions', 'the key goes in the Authorization header, bodies are JSON'),
    row('endpoints/company-mappings', 'queued; fewer than 100,000 companies; ends with one file'),
    row('endpoints/framework-answers-upsert', 'queued; at most 50,000 rows; failed rows on the task; no file'),
    row('endpoints/calculators-upsert', 'queued; one file; 400 without group or identifier, 403 for foreign ones'),
    row('endpoints/calculators-search', 'takes property ids and type ids; ends with page addresses'),
    open('endpoints/open-calculators-search', 'open: other fields of the calculator search request'),
    row('endpoints/task', 'the task with status, type, result and error rows'),
    open('endpoints/open-task', 'open: layout of the task body'),
    row('endpoints/tasks', 'the newest tasks with their statuses'),
    open('endpoints/open-tasks', 'open: layout of a listed task, and how many are listed'),
    row('endpoints/cancel', 'a task that has not started can be cancelled'),
    open('endpoints/open-cancel', 'open: method and path of cancelling'),
    row('endpoints/unit-types', 'an array of unit types, without parameters'),
    row('endpoints/framework', 'a framework with the option ids of its lists'),
    row('endpoints/groups', 'the groups'),
    row('endpoints/custom-properties', 'the custom properties, each with isIdentifier'),
    open('endpoints/open-frameworks', 'open: path of the list of frameworks'),
    open('endpoints/open-named-later', 'open: bodies of the v2 searches and upserts named under Versioning'),
    open('endpoints/open-applications', 'open: application endpoints'),
    open('endpoints/open-submitted', 'open: name of the correlation id in the answer to a submission'),
    open('endpoints/open-requests', 'open: field names of upserts and mappings'),
    bullet('endpoints/deprecated', 'deprecated endpoints still answer'),
  ]),
  section('Authentication', [
    item('authentication/1', 'the header value is the key itself'),
    item('authentication/2', 'a key acts as the profile that it was made for'),
    item('authentication/3', 'access follows the profile: a failed item, or 403'),
    item('authentication/4', 'events name the submitting key; several keys may share a profile'),
    item('authentication/5', 'when the unit types refuse a key, so does everything else'),
    item('authentication/6', 'client: header first, then owner, then results per item'),
    item('authentication/7', 'deliveries are authenticated by signature, and by the custom header if there is one'),
    open('authentication/8', 'open: answer to a missing or invalid key'),
  ]),
] as const
