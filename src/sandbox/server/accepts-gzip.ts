/** Whether `gzip` is named in an Accept-Encoding header, and not with the weight 0. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  return String(header ?? '')
    .split(',')
    .map((coding) =>
      coding
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/),
    )
    .some(([coding, weight]) => coding === 'gzip' && !/^q=0(\.0*)?$/.test(weight ?? ''))
}
