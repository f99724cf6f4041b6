import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { program } from './programs.ts'

export type NotifySocket = AsyncDisposable & {
  path: string
  /** Every message so far, each with the variables that it sets. */
  messages(): Record<string, string>[]
}

/** Receives datagrams and writes each as a line of hexadecimal digits: Perl is part of every Debian. */
const receiver = `
use IO::Socket::UNIX; use Socket; $| = 1;
my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die $!;
print "ready\\n";
while (defined $socket->recv(my $message, 65536)) { print unpack('H*', $message), "\\n" }
`

/** A real datagram socket, as a service manager has one. */
export async function notifySocket(): Promise<NotifySocket> {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-notify-'))
  const path = join(folder, 'socket')
  const child = spawn(program('perl'), ['-e', receiver, path], { env: {}, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  while (!text.startsWith('ready\n')) {
    if (child.exitCode !== null) throw new Error('the receiver did not start')
    await delay(10)
  }
  return {
    path,
    messages: () =>
      text
        .split('\n')
        .slice(1, -1)
        .map((line) =>
          Object.fromEntries(
            Buffer.from(line, 'hex')
              .toString('utf8')
              .split('\n')
              .filter((variable) => variable !== '')
              .map((variable) => [variable.split('=', 1)[0], variable.slice(variable.indexOf('=') + 1)]),
          ),
        ),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
