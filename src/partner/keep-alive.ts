/**
 * Milliseconds of silence after which the kernel asks whether the other end is still there. A reading is silent while
 * the partner's server thinks; without this a network that died meanwhile is noticed after two hours.
 */
export const keepAliveAfterMs = 20_000
