/** The milliseconds of a processor that some work takes, whatever else the machine does meanwhile. */
export function processorMs(work: () => unknown): number {
  const { user, system } = process.cpuUsage()
  work()
  const { user: userAfter, system: systemAfter } = process.cpuUsage()
  return (userAfter - user + systemAfter - system) / 1_000
}
