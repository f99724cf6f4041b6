import type { Profile } from './profile.ts'

/** What happens to deliveries; src/sandbox/webhooks does it. */
export const webhookProfiles: readonly Profile[] = [
  { name: 'webhooks-lost', what: 'A delivery is never sent.', share: 0.1 },
  { name: 'webhooks-late', what: "A delivery is sent 8.5 hours of the sandbox's time late.", share: 0.1 },
  { name: 'webhooks-doubled', what: 'A delivery is sent twice.', share: 0.2 },
  { name: 'webhooks-reordered', what: 'Deliveries are sent in another order than events happened in.', share: 0.3 },
  {
    name: 'webhooks-early',
    what: 'A delivery is sent at once, before the answer to the request it is about.',
    share: 0.2,
  },
]
