/** Something that keeps harm away: taken out by an edit of one file, and the test that must fail then. */
export type Guard = {
  /** What it sees to, as a sentence without its end. */
  name: string
  file: string
  /** Stands once in the file. */
  text: string
  without: string
  /** The test file that must fail. */
  test: string
  /** A part of the titles of those tests that are run; all of the file's without it. */
  title?: string
}

const signature = { file: 'src/exchange/webhook-signature.ts', test: 'test/exchange/webhook-signature.test.ts' }
const address = { file: 'src/exchange/download-address.ts', test: 'test/exchange/download-address.test.ts' }
const download = { file: 'src/exchange/download.ts', test: 'test/exchange/download.test.ts' }
const way = { file: 'src/exchange/download.ts', test: 'test/exchange/where-downloads-lead.test.ts' }
const body = { file: 'src/exchange/download-body.ts', test: 'test/exchange/download.test.ts' }
const end = { file: 'src/exchange/download-body.ts', test: 'test/exchange/incomplete-download.test.ts' }
const answer = { file: 'src/exchange/read-answer.ts', test: 'test/exchange/client-reads.test.ts' }
const entry = { file: 'src/http/may-enter.ts', test: 'test/http/may-enter.test.ts' }
const door = { file: 'src/http/console/console-door.ts', test: 'test/http/console-door.test.ts' }
const receiver = { test: 'test/webhooks/receiver.test.ts' }

/** Guards that unit tests watch: no database is needed. */
export const guardsOfUnits: readonly Guard[] = [
  {
    ...signature,
    name: 'A webhook counts only if its signature is right',
    text: 'return equal === 1',
    without: 'return equal >= 0',
  },
  {
    ...signature,
    name: 'A webhook of more than 300 seconds ago is refused',
    text: 'if (age > toleranceSeconds)',
    without: 'if (age > Number.POSITIVE_INFINITY)',
  },
  {
    ...signature,
    name: 'A webhook of more than 300 seconds ahead is refused',
    text: 'if (age < -toleranceSeconds)',
    without: 'if (age < Number.NEGATIVE_INFINITY)',
  },
  {
    ...signature,
    name: 'The timestamp of a webhook is digits only',
    text: String.raw`if (!/^\d{1,15}$/.test(timestamp))`,
    without: String.raw`if (!/^\d{1,15}/.test(timestamp))`,
  },
  {
    ...signature,
    name: 'The id of a webhook holds no dot',
    text: String.raw`/^[\x21-\x2d\x2f-\x7e]{1,256}$/`,
    without: String.raw`/^[\x21-\x7e]{1,256}$/`,
  },
  {
    ...signature,
    name: 'Only signatures of version v1 count',
    text: '.filter((entry) => entry.startsWith(version))',
    without: ".filter((entry) => entry.includes(','))",
  },
  {
    ...signature,
    name: 'A signature of another length is passed over',
    text: 'if (bytes.length !== entryLength) continue',
    without: '',
  },
  {
    ...signature,
    name: 'A webhook secret of fewer than 16 bytes is refused',
    text: 'if (key.length < shortestKey)',
    without: 'if (key.length < 1)',
  },
  {
    ...signature,
    name: 'A webhook secret without its prefix is refused',
    text: 'if (!secret.startsWith(prefix)) throw',
    without: 'if (secret === prefix) throw',
  },
  {
    ...signature,
    name: 'No verifier is made without a secret',
    text: 'if (secrets.length === 0) throw',
    without: 'if (secrets.length > 99) throw',
  },
  {
    ...signature,
    name: 'What is no base64 is no webhook secret',
    text: "if (key.toString('base64') !== text) throw",
    without: "if (text === '') throw",
  },
  {
    ...address,
    name: 'A page is fetched by https, and by http only where the service is on this machine',
    text: "if (url.protocol === 'http:' && !isLoopbackHost(bareHost(baseUrl)))",
    without: "if (url.protocol === 'http:' && baseUrl.host === '')",
  },
  {
    ...address,
    name: 'A page is fetched by no other scheme',
    text: "if (url.protocol !== 'https:' && url.protocol !== 'http:')",
    without: "if (url.protocol === 'about:')",
  },
  {
    ...address,
    name: 'The address of a page carries no credentials',
    text: "if (url.username !== '' || url.password !== '')",
    without: "if (url.username === 'x' && url.password === 'y')",
  },
  {
    ...address,
    name: 'A page does not lie in a private network',
    text: "return kind === 'public' || (kind !== 'special' && baseKinds.includes(kind))",
    without: "return kind === 'public' || kind !== 'special' || baseKinds.includes(kind)",
  },
  {
    ...way,
    name: 'The key goes to no other origin',
    text: '...(ownOrigin ? { authorization: options.apiKey } : {})',
    without: '...(ownOrigin || true ? { authorization: options.apiKey } : {})',
  },
  {
    ...way,
    name: 'A redirect is judged like an address of its own',
    text: 'const target = judgeDownloadUrl(url, { baseUrl, allowedHosts: options.allowedHosts })',
    without:
      "const judged = judgeDownloadUrl(url, { baseUrl, allowedHosts: options.allowedHosts })\n    const target = followed > 0 && 'refused' in judged ? { url: new URL(url), host: new URL(url).hostname, trusted: true, ownOrigin: false } : judged",
  },
  {
    ...way,
    name: 'No more than three redirects are followed',
    text: 'const maxRedirects = 3',
    without: 'const maxRedirects = 30',
  },
  {
    ...way,
    name: 'A literal address is judged before the connection',
    text: 'await judgeLiteral(target, baseUrl, lookup)',
    without: '',
  },
  {
    ...download,
    name: 'A page that announces more than is allowed is not read',
    text: 'if (contentLength !== null && contentLength > options.maxBytes) {',
    without: 'if (contentLength !== null && contentLength < 0) {',
  },
  {
    ...download,
    name: 'An unknown coding of a page is refused',
    text: 'if (inflater === null) throw new DownloadRefused(host,',
    without: 'if (inflater === null) throw new DownloadFailed(host,',
  },
  {
    file: 'src/exchange/download-address.ts',
    test: 'test/exchange/where-downloads-lead.test.ts',
    name: 'Every address of a host is judged',
    text: 'if (!target.trusted) {',
    without: 'if (target.host === host && host === addresses[0].address) {',
  },
  {
    ...body,
    name: 'A page is cut off at its limit on the wire',
    text: 'if (bytes > maxBytes) return done(',
    without: 'if (bytes < 0) return done(',
  },
  {
    ...body,
    name: 'A page is cut off at its limit after decompression',
    text: 'if (bytes > maxBytes) done(',
    without: 'if (bytes < 0) done(',
  },
  {
    ...end,
    name: 'A page that drips is given up',
    text: 'if (slow && wanted) meter.destroy(',
    without: 'if (slow && !wanted) meter.destroy(',
  },
  {
    ...end,
    name: 'A page of which fewer bytes came than were promised is not whole',
    text: 'if (contentLength === null || bytes === contentLength) return done()',
    without: 'if (contentLength === null || bytes >= 0) return done()',
  },
  {
    ...answer,
    name: 'An answer of the service is cut off at its limit',
    text: 'if (bytes > limits.maxAnswerBytes) {',
    without: 'if (bytes < 0) {',
  },
  {
    ...answer,
    name: 'An answer that drips is given up',
    text: 'const timer = setTimeout(() => body.destroy(late), limits.answerTimeoutMs)',
    without: 'const timer = setTimeout(() => late, limits.answerTimeoutMs)',
  },
  {
    ...answer,
    name: 'An answer that nests too deep is refused',
    text: 'if (++depth > limit) return true',
    without: 'if (++depth < 0) return true',
  },
  {
    ...answer,
    name: 'The answer about another task is refused',
    file: 'src/exchange/client.ts',
    text: 'if (task.correlationId.toLowerCase() === correlationId.toLowerCase()) return task',
    without: 'if (task.correlationId !== correlationId.repeat(2)) return task',
  },
  {
    ...answer,
    name: 'An id does not climb out of its place in a path',
    file: 'src/exchange/connector.ts',
    text: String.raw`if (id !== undefined && /^\.*$/.test(id)) throw`,
    without: String.raw`if (id !== undefined && id === '\0') throw`,
  },
  {
    file: 'src/exchange/classify-failure.ts',
    test: 'test/exchange/classify-failure.test.ts',
    name: 'A failure that is not known counts as arrived',
    text: "? 'not_sent' : 'may_have_arrived'",
    without: "? 'not_sent' : 'not_sent'",
  },
  {
    file: 'src/exchange/submit-outcome.ts',
    test: 'test/exchange/submit-outcome.test.ts',
    name: 'A POST answered by 5xx may be running',
    text: "return ownWord ? 'refused' : 'ambiguous'",
    without: "return ownWord || status >= 500 ? 'refused' : 'ambiguous'",
  },
  {
    file: 'src/pipeline/push/submission-state.ts',
    test: 'test/pipeline/push/submission-state.test.ts',
    name: 'A lost answer does not make a request ready to be sent',
    text: "return event === 'answer_lost' ? 'uncertain' : state",
    without: "return event === 'answer_lost' ? 'planned' : state",
  },
  {
    file: 'src/pipeline/when-to-look.ts',
    test: 'test/pipeline/when-to-look.test.ts',
    name: 'Nothing is sent again while a task that may be its own runs',
    text: 'return mayRun || mayBeUnseen ?',
    without: 'return mayBeUnseen ?',
  },
  {
    file: 'src/pipeline/when-to-look.ts',
    test: 'test/pipeline/when-to-look.test.ts',
    name: 'Nothing is sent again while its task may have scrolled out of the list',
    text: 'return mayRun || mayBeUnseen ?',
    without: 'return mayRun ?',
  },
  {
    file: 'src/pipeline/push/outcomes/judge-error.ts',
    test: 'test/pipeline/push/outcomes/unnamed-rows.test.ts',
    name: 'A partial success that names no row accepts none',
    text: "if (task.rowErrors.length > 0) return { outcome: 'inferred' }",
    without: "if (task.rowErrors.length >= 0) return { outcome: 'inferred' }",
  },
  {
    file: 'src/pipeline/push/outcomes/result-outcome.ts',
    test: 'test/pipeline/push/outcomes/result-outcome.test.ts',
    name: 'A row with errors is rejected, whatever its status says',
    text: 'const failed = status === names.failed || fieldErrors.length > 0',
    without: 'const failed = status === names.failed',
  },
  {
    file: 'src/cli/scrubbing.ts',
    test: 'test/cli/scrubbing.test.ts',
    name: 'What is logged is scrubbed of secrets',
    text: 'to.write(readableLog(clean(String(chunk))))',
    without: 'to.write(readableLog(String(chunk)))',
  },
  {
    file: 'src/cli/scrubbing.ts',
    test: 'test/cli/scrubbing.test.ts',
    name: 'The signature of an address is not logged',
    text: '.replaceAll(signedParameter,',
    without: '.replaceAll(/(?!)/g,',
  },
  {
    file: 'src/exchange/secret-forms.ts',
    test: 'test/exchange/secret-forms.test.ts',
    name: 'A secret is found in base64',
    text: '.filter(({ length }) => length >= shortestPiece)',
    without: '.filter(({ length }) => length < 0)',
  },
  {
    file: 'src/config/show-config.ts',
    test: 'test/config/secrets.test.ts',
    name: 'The configuration is shown without the key',
    text: 'apiKey: exchange.apiKey === null ? null : mask',
    without: 'apiKey: exchange.apiKey',
  },
  {
    file: 'src/config/show-config.ts',
    test: 'test/config/secrets.test.ts',
    name: 'A database is shown without its password',
    text: "if (url.password !== '') url.password = mask",
    without: '',
  },
  {
    file: 'src/config/load-config.ts',
    test: 'test/config/load-config.test.ts',
    name: 'No secret is taken from the command line',
    text: "} else if ((secretPaths as readonly string[]).includes(path) && override !== 'database.url=embedded') {",
    without: '} else if ((secretPaths as readonly string[]).length === 0) {',
  },
  {
    ...entry,
    name: 'A request that names another host is refused',
    text: 'return name !== null && (isLoopback(name) || allowed.includes(name))',
    without: 'return name !== null',
  },
  {
    ...entry,
    name: 'A request of a page of another origin is refused',
    text: 'return isOurHost(new URL(origin).host, allowed)',
    without: "return origin !== ''",
  },
  {
    ...entry,
    name: 'A token that only reads does not act',
    text: "return access === 'act' && bearer !== 'act' ? 403 : null",
    without: 'return null',
  },
  {
    ...entry,
    name: 'A wrong token is refused',
    text: "if (bearer === null || bearer === 'wrong') return 401",
    without: 'if (bearer === null) return 401',
  },
  {
    file: 'src/http/problem.ts',
    test: 'test/http/may-enter.test.ts',
    name: 'An error that nobody foresaw is told without its words',
    text: "return body(500, 'internal_error', 'Something went wrong that should not; the log of the daemon has the details.')",
    without: "return body(500, 'internal_error', message ?? '')",
  },
  {
    file: 'src/cli/show/readable.ts',
    test: 'test/cli/readable.test.ts',
    title: 'JSON that is printed',
    name: 'A text of others drives no terminal',
    text: 'return json.replaceAll(unsafe,',
    without: 'return json.replaceAll(/(?!)/g,',
  },
  {
    file: 'src/cli/keep-compiled.ts',
    test: 'test/processes/keep-compiled.test.ts',
    name: 'No code is taken from a folder that others can write',
    text: 'return user === undefined || (uid === user && (mode & 0o022) === 0)',
    without: 'return user === undefined || uid === user || mode > 0',
  },
  {
    file: 'src/pipeline/reading/read-page.ts',
    test: 'test/pipeline/reading/read-page.test.ts',
    name: 'A page that nests too deep is refused',
    text: 'if (opens && ++this.#depth > this.#limits.maxDepth) {',
    without: 'if (opens && ++this.#depth < 0) {',
  },
  {
    file: 'src/pipeline/reading/company-scanner.ts',
    test: 'test/pipeline/reading/split-page.test.ts',
    name: 'A company that outgrows its limit is refused',
    text: 'return this.#bytes + this.#marks * markWeight > this.#maxSize',
    without: 'return this.#bytes + this.#marks * markWeight < 0',
  },
]

/** Guards that only a database shows at work. */
export const guardsOfDatabase: readonly Guard[] = [
  {
    file: 'src/pipeline/delta/guard-stream.ts',
    test: 'test/pipeline/delta/guard.test.ts',
    title: 'holds an empty source',
    name: 'An empty source is held until a person approves just that',
    text: "if (empty && known !== approvedEmpty) return 'empty'",
    without: '',
  },
  {
    ...receiver,
    file: 'src/webhooks/take-delivery.ts',
    title: 'a body of 64 KiB',
    name: 'A delivery of more than 64 KiB is not read',
    text: 'const maxDeliveryBytes = 64 * 1024',
    without: 'const maxDeliveryBytes = 64 * 1024 * 1024',
  },
  {
    ...receiver,
    file: 'src/webhooks/take-delivery.ts',
    title: 'is not taken by',
    name: 'Webhooks have one path and one method',
    text: "if (request.method !== 'POST' || request.url !== taking.path) return",
    without: 'if (request.url === undefined) return',
  },
  {
    ...receiver,
    file: 'src/webhooks/take-delivery.ts',
    title: 'is answered with 503',
    name: 'A delivery that could not be stored is not answered with 2xx',
    text: "return refuse('not_stored', 503)",
    without: '',
  },
  {
    ...receiver,
    file: 'src/webhooks/take-delivery.ts',
    title: 'needs the custom header',
    name: 'A delivery without the custom header is refused',
    text: 'if (taking.customHeader !== null && !hasCustomHeader(taking.customHeader, request)) {',
    without: 'if (taking.customHeader !== null && request.url === undefined) {',
  },
  {
    ...receiver,
    file: 'src/webhooks/start-webhooks.ts',
    title: 'sends a byte of its body now and then',
    name: 'A client that drips is cut off',
    text: 'requestTimeout: 2 * headersTimeoutMs,',
    without: 'requestTimeout: 0,',
  },
  {
    ...door,
    title: 'a single letter',
    name: 'A session of the console is sealed',
    text: 'return key !== null && timingSafeEqual(Buffer.from(given), Buffer.from(sealOf(body, key))) ? held.data : null',
    without: 'return key !== null ? held.data : null',
  },
  {
    ...door,
    title: 'ends after twelve hours',
    name: 'A session of the console ends',
    text: 'return held === null || held.until <= nowMs ? null : held',
    without: 'return held',
  },
  {
    ...door,
    file: 'src/http/console/console-door.ts',
    title: 'no longer looks after ten',
    name: 'Tokens are not found by trying',
    text: 'if (this.#failures.length >= maxFailures) {',
    without: 'if (this.#failures.length < 0) {',
  },
  {
    ...door,
    file: 'src/http/console/console-door.ts',
    title: 'lets a link sign in once',
    name: 'A link to the console works once',
    text: 'this.#links.delete(key)\n    return link',
    without: 'return link',
  },
  {
    ...door,
    title: 'makes one link of a request for one',
    name: 'A request for a link to the console works once',
    text: 'this.#nonces.delete(request.nonce)\n',
    without: '',
  },
  {
    ...door,
    file: 'src/http/console/console-door.ts',
    title: 'reads nothing for a page of another port',
    name: 'A session works from pages of the console alone',
    text: "if (near && sameOrigin && (reads || headers[consoleHeader] === '1')) return",
    without: 'if (reads || near || sameOrigin) return',
  },
  {
    file: 'src/partner/postgres-snapshot.ts',
    test: 'test/pipeline/delta/extract.test.ts',
    title: 'cannot write to the partner',
    name: "The partner's database is read only",
    text: "await client.query('begin isolation level repeatable read, read only')",
    without: "await client.query('begin isolation level repeatable read, read write')",
  },
  {
    file: 'src/partner/postgres-cursor.ts',
    test: 'test/pipeline/delta/extract.test.ts',
    title: 'loses no row of a',
    name: 'The watermark stops before the oldest open transaction',
    text: 'const cursor = type === undefined ? at :',
    without: 'const cursor = type !== null ? at :',
  },
  {
    file: 'src/partner/sqlite-snapshot.ts',
    test: 'test/pipeline/delta/sqlite-snapshot.test.ts',
    title: 'whatever the statement',
    name: "A partner's file is opened to read",
    text: "new DatabaseSync(path, { readOnly: true, timeout: options.connectTimeoutMs ?? 15_000 })\n    database.exec('pragma query_only = on')",
    without: 'new DatabaseSync(path, { timeout: options.connectTimeoutMs ?? 15_000 })',
  },
  {
    file: 'src/db/readers/open-query-session.ts',
    test: 'test/db/query-session.test.ts',
    name: 'A query of a person runs as a role that can only read',
    text: 'if (reader !== null) return { client: await readOnly(reader), notice: null }',
    without:
      'if (reader !== null) {\n          await reader.end()\n          return { client: await connected(url), notice: null }\n        }',
  },
  {
    file: 'src/db/readers/open-query-session.ts',
    test: 'test/db/query-session.test.ts',
    name: 'A query is not asked as a role that could do more',
    text: 'if (powers.length > 0) {',
    without: 'if (powers.length < 0) {',
  },
  {
    file: 'src/db/locks/advisory-lock.ts',
    test: 'test/jobs/advisory-lock.test.ts',
    name: 'Two processes do not look at one submission at once',
    text: 'return rows[0]?.locked === true',
    without: 'return rows.length === 1',
  },
  {
    file: 'src/db/ledger/row-state.ts',
    test: 'test/db/ledger/plan-kind.test.ts',
    title: 'is kept back while its property',
    name: 'Nothing is planned before what it requires is accepted',
    text: 'having count(*) > 0 and bool_and(not needed.pending)',
    without: 'having count(*) >= 0',
  },
  {
    file: 'src/pipeline/push/sending/resolve-uncertain.ts',
    test: 'test/pipeline/push/uncertain.test.ts',
    title: 'while a task runs that was listed once',
    name: 'A task that may be ours is asked for once it is listed no longer',
    text: ".filter(({ phase }) => phase === 'in_flight')",
    without:
      ".filter(({ phase, correlationId }) => phase === 'in_flight' && tasks.some((listed) => listed.correlationId === correlationId))",
  },
  {
    file: 'src/pipeline/push/sending/resolve-uncertain.ts',
    test: 'test/pipeline/push/uncertain.test.ts',
    title: 'three times in a row',
    name: 'A task that may be ours is believed to be unknown only after several denials',
    text: 'times < denialsBeforeLost',
    without: 'times < 0 * denialsBeforeLost',
  },
  {
    file: 'src/pipeline/when-to-look.ts',
    test: 'test/pipeline/push/outcomes/settle.test.ts',
    title: 'sooner than a poll later',
    name: "Of two denials the second counts only a poll's interval after the first",
    text: 'now >= before.at && !hasLasted(before.at, now, pollIntervalMs)',
    without: 'now < before.at',
  },
  {
    file: 'src/exchange/errors.ts',
    test: 'test/pipeline/push/uncertain.test.ts',
    title: 'nobody but a gateway',
    name: 'A 404 of somebody on the way is no word of the service',
    text: "error.code === 'exchange_not_found' && error.errorCode !== null",
    without: "error.code === 'exchange_not_found'",
  },
  {
    file: 'src/pipeline/pull/merge/unrenewed-parts.ts',
    test: 'test/pipeline/pull/search/finish-search.test.ts',
    title: 'keeps everything when',
    name: 'A search that shows suspiciously little removes nothing',
    text: 'return seen / known < minSeenShare',
    without: 'return seen / known < 0 * minSeenShare',
  },
  {
    file: 'src/pipeline/pull/search/whole-search.ts',
    test: 'test/pipeline/pull/search/finish-search.test.ts',
    title: 'while a page is not loaded',
    name: 'A search of which a page is missing removes nothing',
    text: "if (evidence.pagesNotLoaded > 0) return 'pages_not_loaded'",
    without: '',
  },
]
