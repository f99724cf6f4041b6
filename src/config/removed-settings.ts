/** Settings that earlier versions had, by their path, with what stands in their place now. */
export const removedSettings: Readonly<Record<string, string>> = {
  'push.resendUnmatchedAfterMs':
    'is no setting any more: it is afterMs of the entry {stream: properties, code: not_matched} under push.retries',
}
