import { newestNotifications } from '../db/runs/newest-notifications.ts'
import { systemLookup } from '../exchange/download-address.ts'
import { advice, error, type Found, ok } from './finding.ts'
import { judgeUndelivered } from './schedule-checks.ts'
import { type Check, on } from './ward.ts'

/** So many of the newest are looked at. */
const looked = 100

export const notificationChecks: readonly Check[] = [
  {
    id: 'notify_receiver',
    group: 'notifications',
    why: 'A night that fails while nobody is told is found by accident.',
    run: async (ward) => {
      const { notify, jobs } = await on(ward.config, 'configuration')
      const found: Found[] = []
      for (const [name, url] of [
        ['notify.url', notify.url],
        ['notify.heartbeatUrl', notify.heartbeatUrl],
      ] as const) {
        if (url !== null) found.push(await resolved(name, new URL(url).hostname))
      }
      const scheduled = jobs['nightly-sync'].schedule !== null
      if (notify.email.host !== null) found.push(await resolved('notify.email.host', notify.email.host))
      if (notify.url === null && notify.email.host === null && scheduled)
        found.push(
          advice(
            'Nobody is told of a run that fails',
            'set NIGHTFERRY_NOTIFY_URL, and try nightferry notify --test',
            'notify.url',
          ),
        )
      if (notify.heartbeatUrl === null && scheduled) {
        found.push(
          advice(
            'No monitor notices when every process is down',
            'set NIGHTFERRY_NOTIFY_HEARTBEAT_URL',
            'notify.heartbeatUrl',
          ),
        )
      }
      return found.length > 0 ? found : [ok('There is no schedule, so anyone who starts a run sees how it ends')]
    },
  },
  {
    id: 'notify_delivered',
    group: 'notifications',
    why: 'News that does not arrive is no news.',
    run: async (ward) => {
      const { db } = await on(ward.ledger, 'database_schema')
      return judgeUndelivered(await newestNotifications(db, looked))
    },
  },
]

/** Nothing is sent: whether the receiver takes a message only `nightferry notify --test` shows. */
async function resolved(setting: string, host: string): Promise<Found> {
  try {
    const addresses = await systemLookup(host.replace(/^\[(.*)\]$/, '$1'))
    if (addresses.length > 0)
      return ok(`The host of ${setting} resolves; nightferry notify --test sends a message`, setting)
    return error(`The host of ${setting} has no address`, `check ${setting}`, setting)
  } catch (failure) {
    return error(
      `The host of ${setting} does not resolve: ${(failure as { code?: string }).code ?? 'no reason given'}`,
      `check ${setting}, and the name service of this machine`,
      setting,
    )
  }
}
