import { choiceOf, type Profile, profilesOf } from './profile.ts'

/** Answers 429; what differs is what stands in Retry-After. */
export const rateLimited = choiceOf(
  { name: 'rate-limited', what: 'A request is refused with 429 and one of the forms of Retry-After.', share: 0.1 },
  'rate-limited',
  {
    seconds: 'A request is refused with 429 and a Retry-After in seconds.',
    date: 'A request is refused with 429 and a Retry-After that is a date.',
    nonsense: 'A request is refused with 429 and a Retry-After that is neither seconds nor a date.',
  },
)

export const serverErrors = choiceOf(
  { name: 'server-errors', what: 'A request is refused with 500, 502, 503 or 504.', share: 0.1 },
  'server-error',
  {
    '500': 'A request is refused with 500.',
    '502': 'A request is refused with 502, as by a proxy that lost the service.',
    '503': 'A request is refused with 503.',
    '504': 'A request is refused with 504, as by a proxy that waited too long.',
  },
)

export const cutAnswer = choiceOf(
  { name: 'cut-answer', what: 'An answer ends before its body does, in one of three ways.', share: 0.1 },
  'cut-answer',
  {
    length: 'An answer with a Content-Length ends before that many bytes were sent.',
    chunked: 'A chunked answer ends without its last chunk.',
    clean: 'The end of an answer is missing, though its framing says that it is complete.',
  },
)

export const rowsNotAccepted = choiceOf(
  {
    name: 'refused-rows',
    what: 'An import that holds a refused row, of which this is the share, is refused with 400 or 422 as a whole.',
    share: 0.01,
  },
  'refused-rows',
  {
    '400': 'An import that holds a refused row, of which this is the share, is refused with 400 as a whole.',
    '422': 'An import that holds a refused row, of which this is the share, is refused with 422 as a whole.',
  },
)

const single = {
  latency: 'A request waits for 0.1 to 2 seconds before it is looked at.',
  resetBefore: 'The connection is reset before the request is looked at.',
  unauthorised: 'A request is refused with 401, whatever its key.',
  lostAnswer: 'A request is carried out, and the connection is reset instead of answering.',
  lateServerErrors: 'A request is carried out and answered with 502 all the same.',
  garbageAnswer: 'A request is carried out and answered with bytes that are no HTTP.',
  htmlAnswer: 'A request is carried out and answered with 200 and a page of HTML.',
  stalledAnswer: 'An answer stops in the middle of its body, and the connection stays open.',
  slowBytes: 'The body of an answer comes one byte a second.',
  shuffledKeys: 'The members of every object of an answer come in another order.',
  unknownFields: 'Every object of an answer or a result file has members that nobody knows.',
  unknownStatuses: 'A task that is in flight is shown with a status that nobody knows.',
  unknownErrorCodes: 'A refusal has an error code that nobody knows.',
} as const

export const requestProfile = {
  latency: { name: 'latency', what: single.latency, share: 0.5 },
  resetBefore: { name: 'reset-before', what: single.resetBefore, share: 0.1 },
  unauthorised: { name: 'unauthorised', what: single.unauthorised, share: 0.05 },
  lostAnswer: { name: 'lost-answer', what: single.lostAnswer, share: 0.1 },
  lateServerErrors: { name: 'late-server-errors', what: single.lateServerErrors, share: 0.1 },
  garbageAnswer: { name: 'garbage-answer', what: single.garbageAnswer, share: 0.1 },
  htmlAnswer: { name: 'html-answer', what: single.htmlAnswer, share: 0.1 },
  stalledAnswer: { name: 'stalled-answer', what: single.stalledAnswer, share: 0.05 },
  slowBytes: { name: 'slow-bytes', what: single.slowBytes, share: 0.05 },
  shuffledKeys: { name: 'shuffled-keys', what: single.shuffledKeys, share: 1 },
  unknownFields: { name: 'unknown-fields', what: single.unknownFields, share: 1 },
  unknownStatuses: { name: 'unknown-statuses', what: single.unknownStatuses, share: 0.5 },
  unknownErrorCodes: { name: 'unknown-error-codes', what: single.unknownErrorCodes, share: 1 },
} as const satisfies Record<string, Profile>

export const requestProfiles: readonly Profile[] = [
  ...Object.values(requestProfile),
  ...profilesOf(rateLimited),
  ...profilesOf(serverErrors),
  ...profilesOf(cutAnswer),
  ...profilesOf(rowsNotAccepted),
]
