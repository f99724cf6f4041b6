/**
 * A page whose structure is wrong: refused whole, nothing of it is loaded. Downloading it again may help; retrying the
 * same bytes does not.
 */
export class PageFormatError extends Error {
  readonly code = 'page_malformed'

  /** @param place where on the page, for a person: an element and about how many bytes in. */
  constructor(place: string, reason: string, options?: ErrorOptions) {
    super(`the page is malformed ${place}: ${reason}`, options)
    this.name = 'PageFormatError'
  }
}
