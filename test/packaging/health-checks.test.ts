import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { workingFolder } from '../cli/nightferry-process.ts'
import { unusedPort } from '../exchange/fault-server.ts'
import { some } from '../helpers/some.ts'
import { writeCertificate } from '../helpers/write-certificate.ts'
import { served } from '../http/served.ts'

const read = (path: string) => readFileSync(new URL(`../../packaging/${path}`, import.meta.url), 'utf8')

/** The exit code of a command, run as where it is installed: with this Node.js. */
function codeOf([program = '', ...args]: string[], env: Record<string, string>): Promise<number> {
  const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`
  return new Promise((resolve) => {
    execFile(program, args, { env: { ...env, PATH } }, (error) => resolve(error === null ? 0 : Number(error.code)))
  })
}

/** What the container and the probes of the manifests run, for a port. */
function healthChecks(port: string): { name: string; code: () => Promise<number> }[] {
  const lines = read('container/Containerfile').replaceAll('\\\n', '')
  const ofContainer = /^HEALTHCHECK .*?CMD (.+)$/m.exec(lines)?.[1] ?? ''
  const containers = parseAllDocuments(read('kubernetes/nightferry.yaml')).flatMap((document) => {
    const { kind, spec } = document.toJS() as { kind: string; spec?: { template: { spec: { containers: object[] } } } }
    return kind === 'Deployment' ? (spec?.template.spec.containers ?? []) : []
  })
  const probes = containers.flatMap((container) =>
    Object.entries(container as Record<string, { exec: { command: string[] } }>).filter(([name]) =>
      /Probe$/.test(name),
    ),
  )
  return [
    { name: 'HEALTHCHECK', code: () => codeOf(['sh', '-c', ofContainer], { NIGHTFERRY_HTTP_PORT: port }) },
    ...probes.map(([name, { exec }]) => ({
      name,
      code: () =>
        codeOf(
          exec.command.map((word) => word.replaceAll('8460', port)),
          {},
        ),
    })),
  ]
}

test.each([
  ['on loopback', false],
  ['beyond it, with TLS', true],
])('the health checks of the container and of the manifests pass where the API listens %s', async (_, beyond) => {
  await using folder = await workingFolder()
  const encrypted = () => {
    const { certificateFile, keyFile } = writeCertificate(folder.path)
    return {
      NIGHTFERRY_HTTP_HOST: '0.0.0.0',
      NIGHTFERRY_HTTP_ALLOWED_HOSTS: '["nightferry.example.com"]',
      NIGHTFERRY_HTTP_CERTIFICATE_FILE: certificateFile,
      NIGHTFERRY_HTTP_KEY_FILE: keyFile,
    }
  }
  await using api = await served({ hotels: 1 }, beyond ? encrypted() : {})
  const checks = healthChecks(new URL(api.url).port)
  expect(checks).toHaveLength(4)
  for (const { name, code } of some(checks)) expect(await code(), name).toBe(0)
})

test('the health checks of the container and of the manifests fail where nobody listens', async () => {
  const port = String(await unusedPort())
  for (const { name, code } of some(healthChecks(port))) expect(await code(), name).toBe(1)
})
