import { Argument } from 'commander'
import type { Cli, CommonOptions, ExitCode } from '../cli.ts'
import { wholeNumber } from '../option-values.ts'
import type { BackupOptions } from '../verbs/backup.ts'
import type { Decision, DestinationOptions } from '../verbs/destination.ts'
import type { NotifyOptions } from '../verbs/notify.ts'
import type { GrantOptions, SqlOptions } from '../verbs/readers.ts'
import type { ApplicationsOptions, WebhooksOptions } from '../verbs/webhooks.ts'
import type { MakeVerb } from './make-verb.ts'

/** The verbs that save what Nightferry stores, and bring it back. */
export function addBackupVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  verb(
    'backup',
    'write all that Nightferry stores into one file, while others work',
    'The file holds the database as it was at one moment, compressed, and sums to check it by. It has no key and no password, but all that your hotels report: keep it as you keep your own database.',
  )
    .requiredOption('--out <file>', 'the file to write')
    .option('--force', 'overwrite a file that is there')
    .action(async (options: BackupOptions) => done(await (await import('../verbs/backup.ts')).backup(cli, options)))
  verb(
    'restore-backup',
    'load such a file into an empty database, wholly or not at all',
    'The database is the one that the configuration names. It is brought to the newest schema, and every table is compared with the file. What was sent since the backup is not in it.',
  )
    .argument('<file>', 'the file that nightferry backup wrote')
    .action(async (file: string, options: CommonOptions) =>
      done(await (await import('../verbs/backup.ts')).restoreBackup(cli, file, options)),
    )
}

/** The verbs about what a deployment is connected with: its database and who reads it, the service, and who is told. */
export function addDeploymentVerbs(verb: MakeVerb, cli: Cli, done: (code: ExitCode) => void): void {
  verb(
    'sql',
    'run a read-only query on the tables, or say how to connect',
    'The query runs as a role that can only read. Without a query Nightferry prints how to connect, and keeps the embedded server up.',
  )
    .argument('[query]', 'one statement; the views are found without their schema')
    .option('--csv', 'print CSV instead of text')
    .action(async (query: string | undefined, options: SqlOptions) =>
      done(await (await import('../verbs/readers.ts')).sql(cli, query, options)),
    )
  verb(
    'notify',
    'list the messages about runs, and which of them could not be delivered',
    'With --test it sends one message to notify.url and by notify.email, and says whether it arrived. With --heartbeat it calls notify.heartbeatUrl instead, which tells the monitor that all is well.',
  )
    .option('--test', 'send a test message now')
    .option('--heartbeat', 'with --test: call the heartbeat, and send no message')
    .option('--limit <count>', 'how many to list', wholeNumber(1, 10_000), 20)
    .action(async (options: NotifyOptions) => done(await (await import('../verbs/notify.ts')).notify(cli, options)))
  verb('grant', 'let a role of the database server read the views, and nothing else')
    .argument('<role>', 'an existing role')
    .option('--all', 'also the views that name people, or show rows as the partner had them')
    .option('--revoke', 'take it back')
    .action(async (role: string, options: GrantOptions) =>
      done(await (await import('../verbs/readers.ts')).grant(cli, role, options)),
    )
  verb(
    'destination',
    'show the services, profiles and identifiers that rows were sent to, and which of them is in use',
    'Without a decision it ends with 3 if the configuration points to another than the one in use.',
  )
    .addArgument(
      new Argument(
        '[decision]',
        'what the configured destination is; same: the one in use, under a new name; other: another one',
      ).choices(['same', 'other'] satisfies Decision[]),
    )
    .option('--name <name>', 'what to call it (default: the host of the service)')
    .action(async (decision: Decision | undefined, options: DestinationOptions) =>
      done(await (await import('../verbs/destination.ts')).destination(cli, decision, options)),
    )
  verb(
    'webhooks',
    'show what the webhooks of the service brought, and how well they do',
    'With set-up Nightferry says what to enter in the web application of the service: the API has no call for it. Without it the verb ends with 3 if they are configured and do nothing for us: nothing listens, or none tells of tasks that end.',
  )
    .addArgument(new Argument('[what]', 'what to do instead of showing').choices(['set-up']))
    .option('--url <address>', 'with set-up: the public address, which is checked by the rules of the service')
    .action(async (what: 'set-up' | undefined, options: WebhooksOptions) =>
      done(await (await import('../verbs/webhooks.ts')).webhooks(cli, what, options)),
    )
  verb('applications', 'list the certification applications that webhooks told of, for certifiers')
    .argument('[id]', 'the application of which everything is listed that was told')
    .option('--status <name>', 'only those that stand at this status')
    .option('--limit <count>', 'how many to show', wholeNumber(1, 1_000_000), 50)
    .action(async (id: string | undefined, options: ApplicationsOptions) =>
      done(await (await import('../verbs/webhooks.ts')).listApplications(cli, id, options)),
    )
  verb(
    'migrate',
    'bring the database to the newest schema',
    'The verbs run and serve do this when they start. The other verbs never do.',
  ).action(async (options: CommonOptions) => done(await (await import('../verbs/migrate.ts')).migrate(cli, options)))
}
