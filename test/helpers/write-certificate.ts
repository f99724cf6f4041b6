import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Writes `cert.pem` and `key.pem` of localhost into a folder, a new pair each time, over those that are there. */
export function writeCertificate(folder: string, days = 2): { certificateFile: string; keyFile: string } {
  const files = { certificateFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  const out = ['-keyout', files.keyFile, '-out', files.certificateFile]
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', `${days}`, '-subj', '/CN=localhost', ...out],
    { stdio: 'ignore' },
  )
  return files
}
