import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** What passes on its way to the server or back: a statement that was sent, or the end of a transaction. */
export type Passing =
  | { what: 'statement'; nth: number; text: string }
  /** `before`: the server has not seen the commit. `after`: it has committed, and we have not heard of it. */
  | { what: 'commit'; nth: number; side: 'before' | 'after'; wrote: readonly string[] }

/** `cut`: what passes is not handed on, and its connection is broken. */
export type Verdict = 'pass' | 'cut'

export type DatabaseProxy = AsyncDisposable & {
  /** The address of the database through the proxy. */
  url: string
  statements(): number
  commits(): number
}

const terminate = 'X'

/**
 * Stands between Nightferry and its database, and shows each statement and each commit of an explicit transaction to
 * `judge` before it is handed on. The first commit seen is number 1.
 */
export async function openDatabaseProxy(
  databaseUrl: string,
  judge: (passing: Passing) => Verdict,
): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl)
  const counts = { statements: 0, commits: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      // A broken connection is what this is for.
      socket.on('error', () => {})
    }
    const cut = () => {
      client.destroy()
      upstream.destroy()
    }
    let wrote: string[] = []
    let commit = 0
    const seen = (passing: Passing): boolean => {
      if (judge(passing) === 'pass') return true
      cut()
      return false
    }
    const sent = messages(true, (type, body) => {
      const text = type === 'Q' ? textAt(body, 0) : type === 'P' ? textAt(body, body.indexOf(0) + 1) : null
      if (text === null) return type !== terminate || !client.destroyed
      counts.statements += 1
      if (/^\s*commit\b/i.test(text) || /;\s*commit;?\s*$/i.test(text)) {
        counts.commits += 1
        commit = counts.commits
        return seen({ what: 'commit', nth: commit, side: 'before', wrote })
      }
      const table = /^\s*(?:with\b.*?\b)?(insert into|update|delete from|copy)\s+"?([\w.]+)/is.exec(text)
      if (table?.[2] !== undefined) wrote.push(table[2])
      return seen({ what: 'statement', nth: counts.statements, text })
    })
    const answered = messages(false, (type, body) => {
      if (type !== 'C' || textAt(body, 0) !== 'COMMIT' || commit === 0) return true
      const passing: Passing = { what: 'commit', nth: commit, side: 'after', wrote }
      wrote = []
      return seen(passing)
    })
    client.on('data', (bytes) => sent(bytes, upstream))
    upstream.on('data', (bytes) => answered(bytes, client))
    client.on('close', cut)
    upstream.on('close', cut)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    statements: () => counts.statements,
    commits: () => counts.commits,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * Cuts a stream of Postgres' protocol into messages and hands those on that `judge` lets pass. A client's first message
 * has no type; nothing is handed on once one was refused.
 */
function messages(startup: boolean, judge: (type: string, body: Buffer) => boolean) {
  let rest: Buffer = Buffer.alloc(0)
  let first = startup
  let refused = false
  return (bytes: Buffer, to: Socket): void => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    let at = 0
    while (!refused) {
      const head = first ? 0 : 1
      if (rest.length - at < head + 4) break
      const end = at + head + rest.readInt32BE(at + head)
      if (rest.length < end) break
      const type = first ? '' : String.fromCharCode(rest[at] ?? 0)
      if (judge(type, rest.subarray(at + head + 4, end))) at = end
      else refused = true
      first = false
    }
    if (at > 0 && !to.destroyed) to.write(rest.subarray(0, at))
    rest = Buffer.from(rest.subarray(at))
  }
}

function textAt(body: Buffer, from: number): string {
  const end = body.indexOf(0, from)
  return body.toString('utf8', from, end === -1 ? body.length : end)
}
