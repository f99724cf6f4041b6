/** Connections to the database that the API holds at most. */
export const httpConnections = 3
