/**
 * How a connection to our own database notices that its network died in silence: the kernel asks after so many
 * milliseconds without a word whether the other end is there. Its own default is two hours, in which a run would wait
 * for an answer that cannot come.
 */
export const noticesSilence = { keepAlive: true, keepAliveInitialDelayMillis: 20_000 } as const
