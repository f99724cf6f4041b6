import { describe, expect, it } from 'vitest'
import { judgeDownloadUrl, mayConnect } from '../../src/exchange/download-address.ts'
import { type AddressKind, addressKind } from '../../src/network/address-kind.ts'

const kinds: [AddressKind, string[]][] = [
  [
    'public',
    ['8.8.8.8', '1.0.0.1', '11.0.0.1', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0', '192.167.1.1'],
  ],
  [
    'public',
    ['223.255.255.255', '198.17.255.255', '198.20.0.0', '2606:4700::1111', '2a00:1450:4001::5', '2001:4860:4860::8888'],
  ],
  [
    'loopback',
    ['127.0.0.1', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
  ],
  ['loopback', ['64:ff9b::127.0.0.1', '2002:7f00:1::', '::ffff:0:127.0.0.1']],
  [
    'private',
    ['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '100.64.0.1', '100.127.255.255'],
  ],
  [
    'private',
    [
      'fc00::1',
      'fdff::1',
      'fec0::1',
      '::ffff:10.0.0.1',
      '::FFFF:0A00:0001',
      '64:ff9b::10.0.0.1',
      '2002:a00:1::1',
      '::192.168.1.1',
    ],
  ],
  [
    'link_local',
    [
      '169.254.0.1',
      '169.254.169.254',
      'fe80::1',
      'febf::1',
      'fe80::1%eth0',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
    ],
  ],
  ['translated', ['::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '2002:808:808::1', '::8.8.8.8']],
  [
    'special',
    ['0.0.0.0', '0.1.2.3', '192.0.0.1', '192.0.2.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1'],
  ],
  [
    'special',
    ['192.88.99.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '::', '::ffff:0.0.0.0', 'ff02::1'],
  ],
  [
    'special',
    ['2001::1', '2001:10::1', '2001:db8::1', '3fff::1', '64:ff9b:1::1', '100::1', '4000::1', '5f00::1', 'fe00::1'],
  ],
]

describe('addressKind', () => {
  it.each(kinds.flatMap(([kind, addresses]) => addresses.map((address) => [address, kind] as const)))(
    'holds %s for %s',
    (address, kind) => {
      expect(addressKind(address)).toBe(kind)
    },
  )

  it.each(['', 'localhost', '256.0.0.1', '1.2.3', '1.2.3.4.5', ':::1', '1::2::3', '12345::', '::1.2.3.256'])(
    'holds %j for no address',
    (text) => {
      expect(addressKind(text)).toBeNull()
    },
  )
})

describe('mayConnect', () => {
  it('lets a public address through whatever the base is', () => {
    expect(mayConnect('public', [])).toBe(true)
  })

  it('lets an address of the same kind as the base through, and no other', () => {
    expect(mayConnect('loopback', ['loopback'])).toBe(true)
    expect(mayConnect('link_local', ['loopback', 'private'])).toBe(false)
    expect(mayConnect('loopback', ['public'])).toBe(false)
  })

  it('never lets a special address through', () => {
    expect(mayConnect('special', ['special'])).toBe(false)
  })
})

describe('judgeDownloadUrl', () => {
  const rules = {
    baseUrl: new URL('https://exchange.example/base'),
    allowedHosts: ['Files.Internal', '10.1.2.3', 'fd00::7'],
  }
  const judge = (url: string, baseUrl = rules.baseUrl) => judgeDownloadUrl(url, { ...rules, baseUrl })

  it.each([
    'http://files.example/a',
    'ftp://files.example/a',
    'file:///etc/passwd',
    'data:application/json,{}',
    'https://user@files.example/a',
    'https://user:secret@files.example/a',
    'https://:secret@files.example/a',
    '/api/v1/file',
    '//files.example/a',
    'https://',
    'https://256.256.256.256/',
    '',
  ])('refuses %j', (url) => {
    expect(judge(url)).toHaveProperty('refused')
  })

  it('never repeats the path, the query or the credentials of a URL that it refuses', () => {
    expect(JSON.stringify(judge('https://user:secret@files.example/token?signature=abc'))).not.toMatch(
      /secret|token|abc/,
    )
  })

  it.each([
    ['https://2130706433/', '127.0.0.1'],
    ['https://0x7f.1/', '127.0.0.1'],
    ['https://0177.0.0.1/', '127.0.0.1'],
    ['https://127.1/', '127.0.0.1'],
    ['https://127.0.0.1./', '127.0.0.1'],
    ['https://１２７.0.0.1/', '127.0.0.1'],
    ['https://[::FFFF:127.0.0.1]/', '::ffff:7f00:1'],
  ])('reads the host of %s as %s, whose address can then be judged', (url, host) => {
    const target = judge(url)
    expect(target).toMatchObject({ host, trusted: false, ownOrigin: false })
    expect(addressKind(host)).toBe('loopback')
  })

  it.each(['http://127.0.0.1:9', 'http://[::1]:9', 'http://localhost:9', 'https://localhost'])(
    'allows http beside the base address %s',
    (base) => {
      expect(judge('http://127.0.0.1:1/a', new URL(base))).toHaveProperty('url')
    },
  )

  it.each(['http://10.0.0.1', 'http://exchange.example', 'http://localhost.example', 'http://127.0.0.1.example'])(
    'refuses http beside the base address %s',
    (base) => {
      expect(judge('http://127.0.0.1:1/a', new URL(base))).toHaveProperty('refused')
    },
  )

  it.each(['http://files.example/a', 'http://files.internal/a', 'http://10.1.2.3/a', 'http://localhost.example/a'])(
    'refuses http to another machine although the service is on this one: %s',
    (url) => {
      expect(judge(url, new URL('http://127.0.0.1:9'))).toHaveProperty('refused')
    },
  )

  it.each([
    ['https://exchange.example/x', true],
    ['https://EXCHANGE.example:443/x', true],
    ['https://exchange.example:8443/x', false],
    ['https://exchange.example./x', false],
    ['https://exchange.example.evil/x', false],
    ['https://evil.exchange.example/x', false],
    ['https://files.internal/x', false],
  ])('says of %s whether it is the own origin: %s', (url, ownOrigin) => {
    expect(judge(url)).toMatchObject({ ownOrigin })
  })

  it.each([
    'https://files.internal/x',
    'https://10.1.2.3/x',
    'https://[fd00:0::7]/x',
    'https://exchange.example:8443/x',
  ])('trusts the host of %s', (url) => {
    expect(judge(url)).toMatchObject({ trusted: true })
  })

  it.each(['https://a.files.internal/x', 'https://10.1.2.4/x', 'https://[fd00::8]/x'])(
    'does not trust the host of %s',
    (url) => {
      expect(judge(url)).toMatchObject({ trusted: false })
    },
  )
})
