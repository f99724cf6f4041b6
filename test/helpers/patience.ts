/** How long a test waits for a state that is certain to come. Only a failing test waits so long. */
export const patience = { timeout: 60_000, interval: 20 }
