import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RequestError } from 'tedious'
import { TYPE } from 'tedious/lib/data-type.js'
import { readValue } from 'tedious/lib/value-parser.js'
import { afterEach, describe, expect, it } from 'vitest'
import { readFailed } from '../../../src/partner/partner-errors.ts'
import { openPartnerSnapshot } from '../../../src/partner/partner-snapshot.ts'
import { readServerAddress } from '../../../src/partner/server-session.ts'
import { connectionSettings, sqlserverErrors } from '../../../src/partner/sqlserver-session.ts'
import { sqlserverDialect } from '../../../src/partner/sqlserver-snapshot.ts'
import { authority } from '../../exchange/certificates.ts'
import { some } from '../../helpers/some.ts'

/** Every type of the protocol that the driver can be sent, by its name. */
const types = new Map(Object.values(TYPE).map((type) => [type.name, type]))

/** A value as the driver reads it off the wire, then as the text that lands. */
function landed(name: string, bytes: Buffer, metadata: object = {}): string | null {
  const type = types.get(name)
  if (type === undefined) throw new Error(`the driver knows no ${name}`)
  const field = { name: 'value', type, ...metadata }
  const { value } = readValue(bytes, 0, field as never, { useUTC: true, lowerCaseGuids: false } as never) as {
    value: unknown
  }
  return sqlserverDialect.textOf('properties', 'value', sqlserverDialect.columnOf('properties', field), { value })
}

const float = (value: number) => {
  const bytes = Buffer.alloc(9)
  bytes.writeUInt8(8)
  bytes.writeDoubleLE(value, 1)
  return bytes
}
const real = (value: number) => {
  const bytes = Buffer.alloc(5)
  bytes.writeUInt8(4)
  bytes.writeFloatLE(value, 1)
  return bytes
}
const text = (value: string) => {
  const bytes = Buffer.from(`xx${value}`, 'utf16le').subarray(2)
  bytes.writeUInt16LE(value.length * 2)
  return bytes
}
const binary = (hex: string) => Buffer.from(`${(hex.length / 2).toString(16).padStart(2, '0')}00${hex}`, 'hex')

describe('a value of SQL Server, as the driver decodes it,', () => {
  it.each([0.1, 60.169875, 1e21, 5e-324, 1.797_693_134_862_315_7e308, -0.5])(
    'a value of SQL Server, as the driver decodes it, is a float that names %d again',
    (value) => {
      expect(Number(landed('Float', float(value).subarray(1)))).toBe(value)
      expect(landed('FloatN', float(value), { dataLength: 8 })).toBe(String(value))
    },
  )

  it.each([0.1, 60.1699, 16_777_215, 1e10, 1.175_494_4e-38])(
    'a value of SQL Server, as the driver decodes it, is a real that names %d again, with its own digits',
    (value) => {
      const single = landed('FloatN', real(value), { dataLength: 4 })
      expect(Math.fround(Number(single))).toBe(Math.fround(value))
      expect(single).toBe(String(value))
    },
  )

  it('a value of SQL Server, as the driver decodes it, is text as it is, and bytes in hexadecimal', () => {
    expect(landed('NVarChar', text('ホテル 🏨\t\\N'), { dataLength: 200 })).toBe('ホテル 🏨\t\\N')
    expect(landed('VarBinary', binary('00ff5c78'), { dataLength: 200 })).toBe('\\x00ff5c78')
    expect(landed('NVarChar', Buffer.from('ffff', 'hex'), { dataLength: 200 })).toBe(null)
    expect(landed('FloatN', Buffer.from('00', 'hex'), { dataLength: 8 })).toBe(null)
  })

  it.each([
    ['a\0b', 'NUL character'],
    ['a\ud83c', 'broken characters'],
  ])(
    'a value of SQL Server, as the driver decodes it, is refused when it can be neither stored nor sent: %j',
    (value, reason) => {
      expect(() => landed('NVarChar', text(value), { dataLength: 200 })).toThrow(
        expect.objectContaining({
          code: 'partner_query_failed',
          message: expect.stringMatching(new RegExp(`stream properties .*${reason} in value`)),
        }),
      )
    },
  )

  it('has a way to be read whatever its type, or its query is refused by name', () => {
    const read: Record<string, string> = {}
    const refused: string[] = []
    for (const [name, type] of some(types)) {
      try {
        read[name] = sqlserverDialect.columnOf('properties', { name: 'value', type }).kind
      } catch (error) {
        expect(error).toMatchObject({
          code: 'partner_query_failed',
          message: expect.stringContaining(`value as ${name}`),
        })
        refused.push(name)
      }
    }
    expect(refused).toEqual(['Variant', 'TVP'])
    expect(read).toMatchObject({
      BigInt: 'integer',
      DateTimeOffset: 'datetimeoffset',
      UniqueIdentifier: 'id',
      Xml: 'text',
    })
  })
})

describe('an address of SQL Server', () => {
  const settings = async (url: string) =>
    connectionSettings(await readServerAddress(url, { allowed: ['instance'], tlsByDefault: true }), 5_000)

  it('an address of SQL Server is encrypted and verified unless it says otherwise', async () => {
    const options = async (parameters: string) =>
      (await settings(`sqlserver://u:p@db.example.com/hotels${parameters}`)).options
    expect(await options('')).toMatchObject({
      encrypt: true,
      trustServerCertificate: false,
      port: 1433,
      database: 'hotels',
    })
    expect(await options('?ssl=no-verify')).toMatchObject({ encrypt: true, trustServerCertificate: true })
    expect(await options('?ssl=false')).toMatchObject({ encrypt: false, trustServerCertificate: false })
    const folder = await mkdtemp(join(tmpdir(), 'nightferry-ca-'))
    const file = join(folder, 'authority.pem')
    await writeFile(file, authority)
    expect(await options(`?sslrootcert=${encodeURIComponent(file)}`)).toMatchObject({
      encrypt: true,
      trustServerCertificate: false,
      cryptoCredentialsDetails: { ca: authority },
    })
    await rm(folder, { recursive: true })
  })

  it('names server, port or instance, user and password, in any characters', async () => {
    expect(await settings('mssql://u%40corp:p%2F%23%3F@[::1]:14330/a%20b')).toMatchObject({
      server: '::1',
      authentication: { type: 'default', options: { userName: 'u@corp', password: 'p/#?' } },
      options: { port: 14_330, database: 'a b' },
    })
    const { options } = await settings('sqlserver://u:p@db/hotels?instance=NIGHT')
    expect(options).toMatchObject({ instanceName: 'NIGHT' })
    expect(options).not.toHaveProperty('port')
  })
})

describe('a SQL Server that does not answer', () => {
  let server: Server | undefined
  const sockets = new Set<Socket>()
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
    server?.close()
    if (server?.listening) await once(server, 'close')
    server = undefined
  })
  const listen = async (onConnection: (socket: Socket) => void) => {
    server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      onConnection(socket)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const refusal = async (port: number, parameters = '') =>
    openPartnerSnapshot({
      url: `sqlserver://reader:geheim-und-lang@127.0.0.1:${port}/hotels${parameters}`,
      statementTimeoutMs: 0,
      connectTimeoutMs: 1_000,
    }).then(
      () => 'opened',
      (error: Error & { code: string }) => `${error.code}: ${error.message}`,
    )

  it.each([
    ['refuses', /ECONNREFUSED/, undefined],
    ['says nothing', /1000ms|timeout/i, () => {}],
    ['hangs up', /hang up|ended|closed|ECONNRESET/, (socket: Socket) => socket.destroy()],
  ])('cannot be reached: it %s', async (_title, reason, onConnection) => {
    const port = await listen(onConnection ?? (() => {}))
    if (onConnection === undefined) {
      server?.close()
      await once(server as Server, 'close')
    }
    const said = await refusal(port)
    expect(said).toMatch(/^partner_unreachable: The partner's database at 127\.0\.0\.1:\d+\/hotels cannot be read: /)
    expect(said).toMatch(reason)
    expect(said).not.toContain('geheim')
  })

  it('a SQL Server that does not answer is told apart by an address that is wrong', async () => {
    expect(await refusal(1, '?encrypt=true')).toMatch(
      /^partner_unreachable: .*unknown parameters: encrypt; there are ssl, sslrootcert, instance/,
    )
  })
})

describe('an error of SQL Server', () => {
  const failed = (number: number | undefined, severity: number, driverCode = 'EREQUEST') => {
    const error = new RequestError('it failed', driverCode)
    if (number !== undefined) Object.assign(error, { number, class: severity })
    return readFailed('properties', error, sqlserverErrors)
  }

  it.each<[string, number | undefined, number, string, string?]>([
    ['a column that is not there', 207, 16, 'partner_query_failed'],
    ['a permission that is missing', 229, 14, 'partner_query_failed'],
    ['a session that was killed', 596, 21, 'partner_unreachable'],
    ['a table that was altered under the snapshot', 3961, 16, 'partner_unreachable'],
    ['a disk that is full', 1105, 17, 'partner_query_failed', 'space or memory'],
    ['a deadlock', 1205, 13, 'partner_unreachable'],
    ['a lock that was not to be had in time', 1222, 16, 'partner_unreachable'],
    ['a version of a row for which there was no space', 3958, 16, 'partner_unreachable'],
    ['a connection that was lost', undefined, 0, 'partner_unreachable'],
  ])('says whether the query or the server has to be looked at: %s', (_, number, severity, code, advice = '') => {
    expect(failed(number, severity)).toMatchObject({ code, message: expect.stringContaining(advice) })
  })

  it('tells a statement whose time is over apart from a connection that was lost', () => {
    expect(failed(undefined, 0, 'ETIMEOUT').code).toBe('partner_query_too_slow')
  })
})
