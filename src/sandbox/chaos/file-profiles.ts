import { choiceOf, type Profile, profilesOf } from './profile.ts'

const profile = (name: string, share: number, what: string): Profile => ({ name, what, share })

export const pagesCut = choiceOf(
  profile('pages-cut', 0.1, 'A result file ends before its body does, in one of three ways.'),
  'pages-cut',
  {
    length: 'A result file with a Content-Length ends before that many bytes were sent.',
    chunked: 'A chunked result file ends without its last chunk.',
    clean: 'The end of a result file is missing, though its framing says that it is complete.',
  },
)

export const redirectElsewhere = choiceOf(
  profile('redirect-elsewhere', 0.1, 'The address of a result file redirects to another host.'),
  'redirect-elsewhere',
  {
    'unknown-host': 'The address of a result file redirects to a host that does not exist.',
    'private-address': 'The address of a result file redirects to an address that only a private network has.',
    'other-name': 'The address of a result file redirects to the same file under another name of this machine.',
  },
)

/** Strikes twice: the list of addresses that a task shows, and each file. */
export const pagesShuffled = profile(
  'pages-shuffled',
  1,
  'The addresses of pages come in another order, and so do the members of every object in a result file.',
)

export const fileProfile = {
  pagesExpired: profile('pages-expired', 0.1, 'The address of a result file has expired, whenever it was given.'),
  pagesMissing: profile('pages-missing', 0.1, 'A result file is not there: 404.'),
  pagesStalled: profile('pages-stalled', 0.05, 'A result file stops before its end, and the connection stays open.'),
  pagesSlow: profile('pages-slow', 0.05, 'A result file comes one byte a second.'),
  companyOnTwoPages: profile('company-on-two-pages', 0.2, 'A page also lists a company of the page beside it.'),
  gzipUnannounced: profile('gzip-unannounced', 0.1, 'A result file is gzipped, and no header says so.'),
  gzipAnnouncedOnly: profile('gzip-announced-only', 0.1, 'A header says that a result file is gzipped, and it is not.'),
  decompressionBomb: profile(
    'decompression-bomb',
    0.05,
    'A result file is a few megabytes of gzip, and 10 GiB of white space when it is unpacked.',
  ),
} as const satisfies Record<string, Profile>

export const fileProfiles: readonly Profile[] = [
  ...Object.values(fileProfile),
  pagesShuffled,
  ...profilesOf(pagesCut),
  ...profilesOf(redirectElsewhere),
]
