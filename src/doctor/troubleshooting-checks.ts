import { requirementsOf } from '../config/require-settings.ts'
import { statusCounts } from '../db/runs/listed-rows.ts'
import { deniedKeyInUse } from '../db/service-key/key-in-use.ts'
import { profileOf } from '../pipeline/destination/check-destination.ts'
import { destinationInUse, isKnownKey, wasEverUsed } from '../pipeline/destination/find-destination.ts'
import { keyFingerprint } from '../pipeline/gate/shared-gate.ts'
import {
  countOpen,
  judgeDestination,
  judgeItems,
  judgeKey,
  judgeOpen,
  judgeProfileUse,
  keyTrouble,
} from './judge-service.ts'
import { CannotLook, type Check, on } from './ward.ts'

/** Specification, Authentication 6: the key, then its profile and what it owns, then the results item by item. */
export const serviceChecks: readonly Check[] = [
  {
    id: 'service_key',
    group: 'service',
    why: 'Every call carries the key in the Authorization header, as it is. Without it nothing can be sent or read.',
    run: async (ward) => {
      const { exchange } = await on(ward.config, 'configuration')
      if (exchange.baseUrl === null || exchange.apiKey === null) throw new CannotLook('see settings')
      const odd = keyTrouble(exchange.apiKey)
      const breaker = await ward.ledger().then(
        ({ db }) => deniedKeyInUse(db),
        () => null,
      )
      return await ward.service().then(
        () => judgeKey({ error: null, odd, breaker }),
        (error: unknown) => judgeKey({ error, odd, breaker }),
      )
    },
  },
  {
    id: 'service_profile',
    group: 'service',
    why: 'The key acts as one profile. What that profile does not own or may not use, the service refuses.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const service = await on(ward.service, 'service_key')
      return judgeProfileUse(config, await service.getGroups(), await service.getCustomProperties())
    },
  },
  {
    id: 'service_destination',
    group: 'service',
    why: 'The ledger says what one profile of one service has accepted. Of another it says nothing, and a run refuses to send there.',
    run: async (ward) => {
      const { exchange } = await on(ward.config, 'configuration')
      const { db } = await on(ward.ledger, 'database_schema')
      if (exchange.baseUrl === null || exchange.apiKey === null) throw new CannotLook('see settings')
      const inUse = await destinationInUse(db)
      const used = await wasEverUsed(db)
      const known = await isKnownKey(db, inUse.destination_id, keyFingerprint(exchange.apiKey, exchange.baseUrl))
      const configured = { baseUrl: exchange.baseUrl, customIdentifierId: exchange.customIdentifierId }
      if (!used || known) return judgeDestination({ inUse, used, configured, profile: null })
      const service = await on(ward.service, 'service_key')
      const profile = await profileOf({ db, exchange: service }, inUse)
      return judgeDestination({ inUse, used, configured, profile })
    },
  },
  {
    id: 'item_results',
    group: 'service',
    why: 'A task may succeed although items of it were rejected: only the result of each item tells.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const { db } = await on(ward.ledger, 'database_schema')
      return judgeItems(await statusCounts(db, requirementsOf(config)))
    },
  },
  {
    id: 'open_submissions',
    group: 'service',
    why: 'Rows stay with their request until its fate is known, and are not sent again meanwhile.',
    run: async (ward) => {
      const { db } = await on(ward.ledger, 'database_schema')
      return judgeOpen(await countOpen(db))
    },
  },
]
