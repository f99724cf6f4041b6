import { counted } from '../../counted.ts'
import type { RequestTrouble } from '../../db/runs/request-troubles.ts'

/** Trouble that is younger is shown nowhere: most of it passes with the next call. Milliseconds. */
export const troubleShownAfterMs = 60_000

/**
 * What requests wait for, until when, what comes then, and what a person may do, in two or three sentences. Pure.
 * @param giveUpAfterMs `exchange.giveUpAfterMs`. @param say a moment in words, with its time zone where it needs one.
 */
export function troubleWords(trouble: RequestTrouble, giveUpAfterMs: number, say: (moment: Date) => string): string {
  const { run_id, kind, what, requests, rows, submission_id, since, code, reason } = trouble
  const one = requests === 1
  const carried = rows === 0 ? '' : ` (${counted(rows, 'row')})`
  const which = `${counted(requests, 'request')} of ${kind}${carried}`
  const said = [code, reason].filter((part) => part !== null && part !== '').join(': ')
  const until = say(new Date(since.getTime() + giveUpAfterMs))
  const ends = 'the run fails, and the next one goes on from there'
  const next =
    what === 'calls_fail'
      ? `Nightferry calls again until ${until}. If the service answers nothing by then, ${ends}.`
      : code === 'task_list_too_short'
        ? `Nothing is sent while its task may be running unseen. If that is so until ${until}, ${ends}.`
        : rows === 0
          ? `Nightferry sends ${one ? 'it' : 'them'} again until ${until}. Without an answer by then ${ends}.`
          : `Nightferry sends ${one ? 'it' : 'them'} again until ${until}. Without an answer ${one ? 'it' : 'each'} is split in halves then, which have as long each; where no request of the kind is answered, ${ends}.`
  const lasts =
    what === 'calls_fail'
      ? `calls about ${which} have failed since ${say(since)}`
      : `${which} ${one ? 'has' : 'have'} had no answer since ${say(since)}`
  const may =
    rows === 0
      ? ''
      : ` If no task of it goes on at the service, nightferry abandon ${submission_id} gives it up, and the next run sends its rows again.`
  return `Run ${run_id}: ${lasts}${said === '' ? '' : ` (${said.replace(/\.$/, '')})`}. ${next} nightferry submissions ${submission_id} shows ${one ? 'it' : 'the first of them'}.${may}`
}
