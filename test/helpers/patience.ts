/** How long a test waits for a state that is certain to come. Only a test that fails waits so long, on any machine. */
export const patience = { timeout: 60_000, interval: 20 }
