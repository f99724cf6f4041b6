import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { validate as lint } from 'dockerfile-utils'
import { Deployment } from 'kubernetes-models/apps/v1'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { namedVariables } from '../../src/config/environment.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { settings } from '../../src/config/schema.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { some } from '../helpers/some.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const unit = read('packaging/systemd/nightferry.service')
const template = read('packaging/systemd/nightferry@.service')
const containerfile = read('packaging/container/Containerfile')
const composeFile = read('packaging/container/compose.yaml')
const manifests = parseAllDocuments(read('packaging/kubernetes/nightferry.yaml')).map(
  (document) => document.toJS() as Manifest,
)

type Manifest = { apiVersion: string; kind: string; metadata: { name: string }; data?: Record<string, string> }
type Service = {
  image: string
  read_only?: boolean
  secrets?: string[]
  stop_grace_period: string
  environment: Record<string, string>
}

/** What a stopping process takes at most: the work at hand by default, and then two seconds. */
const stopSeconds = settings.parse({ streams: {} }).engine.shutdownMs / 1000 + 2

/** Variables in a text that hand a secret over as a file. */
function secretVariables(text: string): string[] {
  return [...text.matchAll(/\b([A-Z_]+)_FILE\b/g)].map(([, name]) => name ?? '')
}

test('the files hand over the key and the two databases, by variables that Nightferry reads', () => {
  const own = (text: string) =>
    [...new Set(secretVariables(text).filter((name) => !name.startsWith('POSTGRES')))].sort()
  for (const text of [unit, template, composeFile, read('packaging/kubernetes/nightferry.yaml')]) {
    expect(own(text)).toEqual(['DATABASE_URL', 'EXCHANGE_API_KEY', 'PARTNER_DATABASE_URL'])
  }
  expect(Object.keys(namedVariables)).toEqual(
    expect.arrayContaining(['DATABASE_URL', 'EXCHANGE_API_KEY', 'PARTNER_DATABASE_URL']),
  )
})

test('anyone who stops Nightferry waits longer than it may take', () => {
  const seconds = (text: string | undefined) => Number(/(\d+)s?$/.exec(text ?? '')?.[1])
  expect(seconds(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(stopSeconds)
  const { services } = parse(composeFile) as { services: Record<string, Service> }
  expect(seconds(services.nightferry?.stop_grace_period)).toBeGreaterThan(stopSeconds)
  const { spec } = manifests.find(({ kind }) => kind === 'Deployment') as unknown as {
    spec: { template: { spec: { terminationGracePeriodSeconds: number } } }
  }
  expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(stopSeconds)
})

test('the unit of one profile of several does what the unit does, in folders and under a name of its own', () => {
  const directives = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const own = directives(template).filter((line) => line.includes('%i'))
  expect(own.map((line) => line.split('=')[0])).toEqual([
    'Description',
    'ExecStart',
    'SyslogIdentifier',
    'StateDirectory',
    'WorkingDirectory',
    'Environment',
    'LoadCredential',
    'LoadCredential',
    'LoadCredential',
  ])
  const shared = directives(template)
    .filter((line) => !line.startsWith('SyslogIdentifier='))
    .map((line) => line.replace(' of %i', '').replaceAll('/%i', ''))
  expect(shared).toEqual(directives(unit))
  expect(read('docs/operations.md')).toContain('packaging/systemd/nightferry@.service')
})

test('the unit is started again after each error for as long as it takes, one of a file that is not there yet too', async () => {
  const [head = '', service = ''] = unit.split('[Service]')
  expect(head).toMatch(/^StartLimitIntervalSec=0$/m)
  expect(service).toMatch(/^Restart=on-failure$/m)
  const left = [...service.matchAll(/^(?:RestartPrevent|Success)ExitStatus=(.*)$/gm)].flatMap(([, codes = '']) =>
    codes.split(' '),
  )
  await using folder = await workingFolder()
  const file = join(folder.path, 'not-mounted')
  for (const ended of [
    await nightferry(folder.path, ['serve', '--config', file]),
    await nightferry(folder.path, ['serve'], { DATABASE_URL_FILE: file }),
  ]) {
    expect(ended.stderr).toMatch(/^nightferry: config_invalid: .*ENOENT/s)
    expect(left).not.toContain(String(ended.code))
  }
})

test('the Containerfile has no finding of the linter, copies what there is, and does not end as root', () => {
  expect(lint(containerfile)).toEqual([])
  expect(lint('FRM node:24').length).toBeGreaterThan(0)
  const ignored = read('packaging/container/Containerfile.dockerignore').split('\n')
  const copied = [...containerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  )
  for (const name of some(copied)) {
    const path = name.replace(/^\.\//, '')
    expect(existsSync(join(root, path)), path).toBe(true)
    expect(ignored, path).toContain(`!${path}`)
  }
  expect(containerfile.match(/^USER (.+)$/gm)?.at(-1)).toBe('USER 10001:10001')
})

test('the image takes each optional package by a build argument, as the page says', () => {
  const { peerDependencies } = JSON.parse(read('package.json')) as { peerDependencies: Record<string, string> }
  const page = read('docs/operations.md')
  for (const name of some(Object.keys(peerDependencies))) expect(page).toMatch(new RegExp(`PACKAGES=.*${name}`))
  const [, install = ''] =
    /^ARG PACKAGES=""\nRUN \[ -z "\$PACKAGES" \] \|\| (npm install .*) \$PACKAGES$/m.exec(containerfile) ?? []
  // Without --save-prod npm takes them for the development dependencies that they are as well, and leaves them out.
  expect(install.split(' ')).toEqual(
    expect.arrayContaining(['--no-save', '--save-prod', '--ignore-scripts', '--omit=dev', '--omit=optional']),
  )
})

test('images are named without the host of a registry', () => {
  const named = [
    ...[...containerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image ?? ''),
    ...[...composeFile.matchAll(/^ +image: (\S+)$/gm)].map(([, image]) => image ?? ''),
    ...[...read('packaging/kubernetes/nightferry.yaml').matchAll(/^ +image: (\S+)$/gm)].map(([, image]) => image ?? ''),
  ]
  for (const image of some(named)) expect(image).toMatch(/^[a-z]+(:[\w.-]+)?$/)
})

test('each service of the compose file has a read-only root, and each secret that it names is declared', () => {
  const compose = parse(composeFile) as { services: Record<string, Service>; secrets: Record<string, unknown> }
  for (const [name, service] of some(Object.entries(compose.services))) {
    expect(service.read_only, name).toBe(true)
    for (const secret of some(service.secrets ?? [])) {
      expect(Object.keys(compose.secrets)).toContain(secret)
      expect(Object.values(service.environment)).toContain(`/run/secrets/${secret}`)
    }
  }
})

test('the user of the container is given the files that the compose file mounts, as its header and the page say', () => {
  const { services } = parse(composeFile) as { services: Record<string, Service> }
  const secrets = some(services.nightferry?.secrets ?? []).map((name) => `secrets/${name}`)
  const user = /^USER (\d+):/m.exec(containerfile)?.[1]
  const [header = ''] = composeFile.split(/^name:/m)
  for (const text of [header, read('docs/operations.md')]) {
    expect(text).toContain(`chown ${user} ${secrets.join(' ')}`)
    expect(text).toContain('chmod 600 secrets/*')
    expect(text).toContain('chmod 644 nightferry.yaml')
  }
})

test('the manifests fit the schemas of Kubernetes, which see a wrong one', async () => {
  for (const manifest of some(manifests)) {
    const kinds = (await import(/* @vite-ignore */ `kubernetes-models/${manifest.apiVersion}`)) as Record<
      string,
      new (
        data: unknown,
      ) => { validate(): void }
    >
    const Kind = kinds[manifest.kind]
    if (Kind === undefined) throw new Error(`there is no ${manifest.kind} in ${manifest.apiVersion}`)
    expect(() => new Kind(manifest).validate(), manifest.kind).not.toThrow()
  }
  const wrong = structuredClone(manifests.find(({ kind }) => kind === 'Deployment')) as unknown as {
    spec: { replicas: unknown }
  }
  wrong.spec.replicas = 'two'
  expect(() => new Deployment(wrong as never).validate()).toThrow(/replicas/)
})

test('the configuration in the manifests is one that Nightferry takes', async () => {
  const { data } = manifests.find(({ kind }) => kind === 'ConfigMap') as Manifest
  const text = data?.['nightferry.yaml'] ?? ''
  await using folder = await workingFolder()
  const file = join(folder.path, 'nightferry.yaml')
  await writeFile(file, text)
  expect(loadConfig({ file, environment: {} }).jobs['nightly-sync'].schedule).toBe('30 2 * * *')
})

/** Kubernetes sets variables for each Service, and those of one called `nightferry-http` look like settings. */
test('the pods of the manifests are given no variables of the Services beside them', () => {
  expect(manifests.find(({ kind }) => kind === 'Deployment')).toMatchObject({
    spec: { template: { spec: { enableServiceLinks: false } } },
  })
  expect(read('docs/operations.md')).toContain('enableServiceLinks: false')
})

test('the unit, the compose file and the manifests leave Nightferry no capability, no new privileges, and a root that it cannot write', () => {
  for (const line of ['CapabilityBoundingSet=', 'NoNewPrivileges=yes', 'ProtectSystem=strict', 'User=nightferry']) {
    expect(unit.split('\n')).toContain(line)
  }
  const { services } = parse(composeFile) as { services: Record<string, unknown> }
  expect(services.nightferry).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  })
  expect(manifests.find(({ kind }) => kind === 'Deployment')).toMatchObject({
    spec: {
      template: {
        spec: {
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true },
          containers: [
            {
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
            },
          ],
        },
      },
    },
  })
})
