import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

/** Server settings by name, as in postgresql.conf: `{ fsync: 'off' }`. */
export type ServerSettings = Readonly<Record<string, string>>

/** For a machine with 2 cores that also runs Nightferry, the sandbox and a person's editor. */
const defaults: ServerSettings = {
  // Loopback only, no socket file: its path may be longer than the 107 bytes that the system allows.
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  wal_level: 'replica',
  // A large load rewrites pages between checkpoints; less would checkpoint all the time, more would make recovery slow.
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  // With 2 cores a parallel query takes the second one from ourselves, and its shared memory exceeds a container's 64
  // MB.
  max_parallel_workers_per_gather: '0',
  // Our statements are short; compiling them costs more than it saves.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] %a %d ',
  log_checkpoints: 'off',
}

/**
 * The text of a configuration file: our defaults, `settings` over them, and the port.
 * @throws {EmbeddedPostgresError} for a name that cannot be a setting.
 */
export function settingsFile(port: number, settings: ServerSettings): string {
  const all = { ...defaults, ...settings, port: String(port) }
  return Object.entries(all)
    .map(([name, value]) => {
      if (!/^[a-z_][a-z0-9_.]*$/.test(name) || value.includes('\n')) {
        throw new EmbeddedPostgresError(`"${name}" is not a setting of PostgreSQL, or its value holds a line break.`)
      }
      return `${name} = '${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'\n`
    })
    .join('')
}
