/**
 * What a report says after a backup of our own database came back; nothing while it is the one of the run before. Pure.
 */
export function ownDatabaseRemarks(runOfOther: number | null): string[] {
  if (runOfOther === null) return []
  return [
    `Nightferry's database is another copy than the one of run ${runOfOther}: a backup was restored, or it was moved. If it was a backup, the service holds what was sent since, and the ledger does not know of it: nightferry resend --all --beyond-guard sends everything again with the next run. If it was moved as it was, nothing is wrong.`,
  ]
}
