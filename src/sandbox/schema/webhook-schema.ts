/** Webhooks, what happened, and what was delivered of it. */
export const webhookSchema = ``
