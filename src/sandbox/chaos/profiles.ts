import { malformedPages } from './page-cases/page-cases.ts'
import { choiceOf, type Profile, profilesOf, tableOf } from './profile.ts'

/** What happens to requests and their answers. */
export const requestProfile = tableOf({
  latency: ['latency', 0.5, 'A request waits for 0.1 to 2 seconds before it is looked at.'],
  resetBefore: ['reset-before', 0.1, 'The connection is reset before the request is looked at.'],
  unauthorised: ['unauthorised', 0.05, 'A request is refused with 401, whatever its key.'],
  lostAnswer: ['lost-answer', 0.1, 'A request is carried out, and the connection is reset instead of answering.'],
  lateServerErrors: ['late-server-errors', 0.1, 'A request is carried out and answered with 502 all the same.'],
  garbageAnswer: ['garbage-answer', 0.1, 'A request is carried out and answered with bytes that are no HTTP.'],
  htmlAnswer: ['html-answer', 0.1, 'A request is carried out and answered with 200 and a page of HTML.'],
  stalledAnswer: ['stalled-answer', 0.05, 'An answer stops in the middle of its body, and the connection stays open.'],
  slowBytes: ['slow-bytes', 0.05, 'The body of an answer comes one byte a second.'],
  shuffledKeys: ['shuffled-keys', 1, 'The members of every object of an answer come in another order.'],
  unknownFields: ['unknown-fields', 1, 'Every object of an answer or a result file has members that nobody knows.'],
  unknownStatuses: ['unknown-statuses', 0.5, 'A task that is in flight is shown with a status that nobody knows.'],
  unknownErrorCodes: ['unknown-error-codes', 1, 'A refusal has an error code that nobody knows.'],
})

/** Answers 429; what differs is what stands in Retry-After. */
export const rateLimited = choiceOf(
  ['rate-limited', 0.1, 'A request is refused with 429 and one of the forms of Retry-After.'],
  {
    seconds: 'A request is refused with 429 and a Retry-After in seconds.',
    date: 'A request is refused with 429 and a Retry-After that is a date.',
    nonsense: 'A request is refused with 429 and a Retry-After that is neither seconds nor a date.',
  },
)

export const serverErrors = choiceOf(
  ['server-errors', 0.1, 'A request is refused with 500, 502, 503 or 504.'],
  {
    '500': 'A request is refused with 500.',
    '502': 'A request is refused with 502, as by a proxy that lost the service.',
    '503': 'A request is refused with 503.',
    '504': 'A request is refused with 504, as by a proxy that waited too long.',
  },
  'server-error',
)

export const cutAnswer = choiceOf(['cut-answer', 0.1, 'An answer ends before its body does, in one of three ways.'], {
  length: 'An answer with a Content-Length ends before that many bytes were sent.',
  chunked: 'A chunked answer ends without its last chunk.',
  clean: 'The end of an answer is missing, though its framing says that it is complete.',
})

const refusedRow = 'An import that holds a refused row, of which this is the share, is refused with'
export const rowsNotAccepted = choiceOf(['refused-rows', 0.01, `${refusedRow} 400 or 422 as a whole.`], {
  '400': `${refusedRow} 400 as a whole.`,
  '422': `${refusedRow} 422 as a whole.`,
})

/** What happens to tasks. */
export const taskProfile = tableOf({
  tasksCancelled: ['tasks-cancelled', 0.1, 'A task is cancelled by somebody else before it is processed.'],
  tasksStuck: ['tasks-stuck', 0.05, 'A task stays in progress for as long as this profile is on.'],
  tasksForgotten: ['tasks-forgotten', 0.05, 'A task is worked on, but the service answers 404 when asked for it.'],
  statusesRepeated: [
    'statuses-repeated',
    0.3,
    'A task is re-queued one to three times and enters the same in-flight status again.',
  ],
  pendingRepeated: [
    'pending-repeated',
    0.3,
    'A task is re-queued while it waits: it enters Pending once more, and that fires an event.',
  ],
  errorWithoutBody: ['error-without-body', 0.1, 'A task does nothing and ends in error, without saying why.'],
  errorsWithoutRows: [
    'errors-without-rows',
    0.1,
    'A task does nothing and ends in error, with a message and without rows.',
  ],
  poisonRows: [
    'poison-rows',
    0.01,
    'A task that holds a poisoned row, of which this is the share, ends in error without rows.',
  ],
  partialWithoutRows: [
    'partial-without-rows',
    0.2,
    'An import ends as partly successful and does not say which rows failed.',
  ],
  successWithoutPages: [
    'success-without-pages',
    0.1,
    'A task that makes result files ends as successful and lists none.',
  ],
  smallFirst: ['small-first', 0.5, 'A task is held back at its end until a smaller one that was sent later has ended.'],
})

/** What happens to result files. */
export const fileProfile = tableOf({
  pagesExpired: ['pages-expired', 0.1, 'The address of a result file has expired, whenever it was given.'],
  pagesMissing: ['pages-missing', 0.1, 'A result file is not there: 404.'],
  pagesStalled: ['pages-stalled', 0.05, 'A result file stops before its end, and the connection stays open.'],
  pagesSlow: ['pages-slow', 0.05, 'A result file comes one byte a second.'],
  companyOnTwoPages: ['company-on-two-pages', 0.2, 'A page also lists a company of the page beside it.'],
  gzipUnannounced: ['gzip-unannounced', 0.1, 'A result file is gzipped, and no header says so.'],
  gzipAnnouncedOnly: ['gzip-announced-only', 0.1, 'A header says that a result file is gzipped, and it is not.'],
  decompressionBomb: [
    'decompression-bomb',
    0.05,
    'A result file is a few megabytes of gzip, and 10 GiB of white space when it is unpacked.',
  ],
  /** Strikes twice: the list of addresses that a task shows, and each file. */
  pagesShuffled: [
    'pages-shuffled',
    1,
    'The addresses of pages come in another order, and so do the members of every object in a result file.',
  ],
})

export const pagesCut = choiceOf(['pages-cut', 0.1, 'A result file ends before its body does, in one of three ways.'], {
  length: 'A result file with a Content-Length ends before that many bytes were sent.',
  chunked: 'A chunked result file ends without its last chunk.',
  clean: 'The end of a result file is missing, though its framing says that it is complete.',
})

const elsewhere = 'The address of a result file redirects to'
export const redirectElsewhere = choiceOf(['redirect-elsewhere', 0.1, `${elsewhere} another host.`], {
  'unknown-host': `${elsewhere} a host that does not exist.`,
  'private-address': `${elsewhere} an address that only a private network has.`,
  'other-name': `${elsewhere} the same file under another name of this machine.`,
})

/** What happens to deliveries; src/sandbox/webhooks does it. */
export const webhookProfiles: readonly Profile[] = Object.values(
  tableOf({
    lost: ['webhooks-lost', 0.1, 'A delivery is never sent.'],
    late: ['webhooks-late', 0.1, "A delivery is sent 8.5 hours of the sandbox's time late."],
    doubled: ['webhooks-doubled', 0.2, 'A delivery is sent twice.'],
    reordered: ['webhooks-reordered', 0.3, 'Deliveries are sent in another order than events happened in.'],
    early: ['webhooks-early', 0.2, 'A delivery is sent at once, before the answer to the request it is about.'],
  }),
)

/** Every profile, family by family: requests, tasks, result files, webhooks. */
export const profiles: readonly Profile[] = [
  ...Object.values(requestProfile),
  ...[rateLimited, serverErrors, cutAnswer, rowsNotAccepted].flatMap(profilesOf),
  ...Object.values(taskProfile),
  ...Object.values(fileProfile),
  ...[pagesCut, redirectElsewhere, malformedPages].flatMap(profilesOf),
  ...webhookProfiles,
]

export const profilesByName: ReadonlyMap<string, Profile> = new Map(profiles.map((profile) => [profile.name, profile]))
